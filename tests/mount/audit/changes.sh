#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: the log goes on when the volume has another name after a reload, and when its
# module was replaced; two volumes share a log, two daemons do not; other rules leave a record; a
# log in a bind mount of the export is refused; reopen-log tells what it cannot open.
# builds: release
# through: device
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir -p records modules/features modules/storage bin
cp "$BUILD_DIR/src/windlass" bin
WINDLASS=$PWD/bin/windlass
cp "$BUILD_DIR/xlators/features/audit.so" modules/features
cp "$BUILD_DIR/xlators/storage/posix.so" modules/storage
export WINDLASS_XLATOR_PATH=$PWD/modules
LOGFILE=$TEST_DIR/records/audit.log
audit=features/audit,log-directory=$TEST_DIR/records,rules=$TEST_DIR/rules
echo 'mkdir,rmdir -> record' >rules

# --- another name, another module ---

stack "$audit"
mount_volfile "$VOL"
mkdir "$MNT/first"
sed -i 's/audit-1/watch/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
mkdir "$MNT/second"
cp modules/features/audit.so modules/new && mv modules/new modules/features/audit.so
expect_match "the reload" "module of type 'features/audit' is another one" \
    "$("$WINDLASS" reload "$MNT")"
mkdir "$MNT/third"
expect "the records" "audit-1
/first 2
watch
/second 4
watch
/third 6" "$(jq -r 'if .begin then .begin else "\(.path) \(.unwind)" end' "$LOGFILE")"

# --- other rules ---

expect "the rules" "$(sha256sum rules | cut -d ' ' -f 1)" \
    "$(jq -r 'select (.begin) | .rules_sha256' "$LOGFILE" | sort -u)"
expect_ok "$WINDLASS" reload "$MNT"
expect "equal rules" "" "$(jq 'select (.change)' "$LOGFILE")"
echo 'mkdir path "/seen*" -> record' >rules
expect "the answer tells that the file was read" "no option changed
volume 'watch': option 'rules': '$TEST_DIR/rules' was read again" "$("$WINDLASS" reload "$MNT")"
mkdir "$MNT/unseen" "$MNT/seen"
expect "the records" "/third
watch $TEST_DIR/rules $(sha256sum rules | cut -d ' ' -f 1) drop
/seen" "$(jq -r 'if .change then "\(.change) \(.rules) \(.rules_sha256) \(.when_full)"
    else .path end' "$LOGFILE" | tail -n 3)"
sed -i "s/option rules/option when-full block\n    &/" "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "the policy" block "$(jq -r 'select (.change) | .when_full' "$LOGFILE" | tail -n 1)"

# --- another file under the name ---

mv "$LOGFILE" records/old
touch "$LOGFILE"
chmod 666 "$LOGFILE"
expect_error "volume 'watch': the log 'audit.log' can't be opened: 'audit.log' is open to others" \
    "$WINDLASS" tell "$MNT" - reopen-log
expect_match "the daemon's log" "the log 'audit.log' can't be opened" "$(cat "$LOG")"
mkdir "$MNT/seen2"
expect "the old file stays" /seen2 "$(jq -r .path records/old | tail -n 1)"
rm "$LOGFILE"
expect_ok "$WINDLASS" tell "$MNT" - reopen-log
mkdir "$MNT/seen3"
expect "the new one" /seen3 "$(jq -r .path "$LOGFILE")"

# --- who shares it ---

mkdir other
expect_error "the log 'audit.log' can't be opened: another daemon writes to it" \
    "$WINDLASS" -N -f "$VOL" -l - other
unmount
rm -r "${BACK:?}"/* records/* records/.audit.log.lock # which has the last number
echo 'mkdir -> record' >rules
stack "$audit" "$audit"
mount_volfile "$VOL"
mkdir "$MNT/both"
expect "both volumes" "audit-1 3
audit-2 4" "$(jq -r 'select (.operation) | "\(.volume) \(.unwind)"' "$LOGFILE")"
unmount

# --- a bind mount of the export ---

mkdir -p "$BACK/inside/deep" bound elsewhere
mount --bind "$BACK/inside" bound || skip "needs mount"
for place in bound bound/deep; do
    stack "features/audit,log-directory=$TEST_DIR/$place"
    expect_error "is in the directory of volume 'posix', so in the mount" \
        "$WINDLASS" -N -f "$VOL" -l - "$MNT"
done
umount bound
mount --bind "$BACK" elsewhere
BACK=$TEST_DIR/elsewhere stack "features/audit,log-directory=$BACK/inside"
expect_error "is in the directory of volume 'posix'" "$WINDLASS" -N -f "$VOL" -l - "$MNT"
umount elsewhere
