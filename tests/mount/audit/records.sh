#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: what a record says; which operations the rules choose; reads, writes and lookups
# that the kernel would spare; rotation; numbers that go on; where the log may not be.
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
LOGFILE=$TEST_DIR/records/audit.log
audit=features/audit,log-directory=$TEST_DIR/records

# said FILTER: what the records say, by jq; the first records of volumes are left out.
said () {
    jq -r "select (.operation) | $1" "$LOGFILE"
}

# --- by default ---

stack "$audit"
mount_volfile "$VOL"
cp "$(command -v cat)" "$TEST_DIR/reader"
chmod 777 "$BACK"
user touch "$MNT/a"
mv "$MNT/a" "$MNT/b"
"$TEST_DIR/reader" "$MNT/b"
ln "$MNT/b" "$MNT/c"
rm "$MNT/b"
! mkdir "$MNT/no/dir" 2>/dev/null || fail "mkdir in a directory that is not there"
! rmdir "$MNT/none" 2>/dev/null || fail "rmdir of nothing"
mkdir "$MNT/d" && ! mkdir "$MNT/d" 2>/dev/null
expect "who did what" "create /a null touch 65534 65534 ok
setattr /a null touch 65534 65534 ok
rename /a /b mv 0 0 ok
open /b null reader 0 0 ok
link /b /c ln 0 0 ok
unlink /b null rm 0 0 ok
mkdir /d null mkdir 0 0 ok" \
    "$(said '"\(.operation) \(.path) \(.new_path) \(.program) \(.uid) \(.gid) \(.result)"')"
expect "numbers" "$(seq 2 2 14)" "$(said .unwind)"
expect "of winds" "$(seq 1 2 13)" "$(said .wind)"
touch "$MNT/"$'\xff"\n'
expect "a name that is no text" '/�"\n 2fff220a' \
    "$(said 'select (.path_hex) | "\(.path | gsub ("\n"; "\\n")) \(.path_hex)"' | head -n 1)"
rm "$MNT/"$'\xff"\n'
expect_match "explain" 'this rule is for it: line 1 of default: ' "$("$WINDLASS" explain "$MNT/c")"
expect_match "windlass rules" '^    default:1: .* -> record$' "$("$WINDLASS" rules "$MNT" /c)"
expect_match "a state dump" '^records=' "$(cat "$("$WINDLASS" statedump "$MNT")")"

# --- the log ---

mv "$LOGFILE" records/away
expect_ok "$WINDLASS" tell "$MNT" - reopen-log
rm "$MNT/c"
expect "after a rotation from outside" "unlink /c" "$(said '"\(.operation) \(.path)"')"
last=$(said .unwind | tail -n 1)
unmount
mount_volfile "$VOL"
touch "$MNT/c"
expect "the numbers go on" $((last + 2)) "$(said .unwind | sed -n 2p)"
unmount
rm -f "$LOGFILE"* records/.audit.log.lock # which has the last number
stack "$audit,max-size=2KB,keep=3"
mount_volfile "$VOL"
for i in {1..60}; do
    mkdir "$MNT/dir$i"
    # The thread of the log begins a new file after the record that filled the old one.
    wait_until "[ \$(stat -c %s '$LOGFILE') -lt 2048 ]"
done
expect "files are kept" "audit.log
audit.log.1
audit.log.2
audit.log.3" "$(cd records && ls audit*)"
newest=$(jq -s 'map (.unwind // 0) | max' "$LOGFILE" "$LOGFILE.1")
expect "the last record" 120 "$newest"
expect "none is lost between them" \
    "$(seq $((120 - 2 * ($(cat "$LOGFILE"* | wc -l) - 1))) 2 120)" \
    "$(cat "$LOGFILE.3" "$LOGFILE.2" "$LOGFILE.1" "$LOGFILE" | jq 'select (.operation) | .unwind')"
unmount
rmdir "$BACK"/dir*
rm -f "$LOGFILE"*

# --- what the kernel would spare ---

printf 'readv,writev path "*.seen" -> record\nreadv path /never -> record\n' >rules
stack "$audit,rules=$TEST_DIR/rules"
PASSTHROUGH=auto mount_volfile "$VOL"
for name in f.seen f.cached; do
    echo "twice and more" >"$MNT/$name"
    cat "$MNT/$name" "$MNT/$name" "$MNT/$name" >copy
done
expect "each read, and the end of the file" "writev 15
readv 15
readv 0
readv 15
readv 0
readv 15
readv 0" "$(said '"\(.operation) \(.bytes)"' | head -n 7)"
expect "of that file alone" "/f.seen" "$(said .path | sort -u)"
expect_match "explain" 'reads and writes go past the page cache' \
    "$("$WINDLASS" explain "$MNT/f.seen")"
printf '* path /f.cached -> skip\nlookup,stat,fstat -> record\n' >rules
expect_ok "$WINDLASS" reload "$MNT"
sleep 1.1 # the timeouts of what the kernel knew
rm -f records/away
before=$(said .path | grep -c '^/f.seen$')
for i in {1..5}; do
    stat "$MNT/f.seen" >/dev/null
done
after=$(said .path | grep -c '^/f.seen$')
[ $((after - before)) -ge 5 ] || fail "$((after - before)) records of 5 stats"
expect "skip" "" "$(said 'select (.operation == "lookup") | .path' | grep cached)"
unmount
rm -f "$BACK"/f.*

# --- where it may not be ---

mkdir "$BACK/inside"
stack "features/audit,log-directory=$BACK/inside"
expect_error "is in the directory of volume 'posix', so in the mount" \
    "$WINDLASS" -N -f "$VOL" -l - "$MNT"
stack features/audit
expect_error "option 'log-directory' is missing" "$WINDLASS" -N -f "$VOL" -l - "$MNT"
stack "features/audit,log-directory=$MNT"
expect_error "is in the mount" "$WINDLASS" -N -f "$VOL" -l - "$MNT"
ln -s /dev/null records/link
stack "$audit,log-name=link"
expect_error "the log 'link' can't be opened: 'link' is a symbolic link: remove it; the options" \
    "$WINDLASS" -N -f "$VOL" -l - "$MNT"
stack "$audit" performance/io-cache
expect_error "answers reads itself, which are then not recorded" "$WINDLASS" check "$VOL"

# --- who else may have it ---

touch records/open
chmod 666 records/open
stack "$audit,log-name=open"
expect_error "'open' is open to others \(mode 0666\): remove it, or 'chmod go-w' it" \
    "$WINDLASS" -N -f "$VOL" -l - "$MNT"
# Its lock, too, which another user may have made before, or as a link to a file of somebody else.
echo precious >precious
lock_refused () { # WHY MAKE...
    rm -rf records/.other.lock
    "${@:2}" records/.other.lock
    stack "$audit,log-name=other"
    expect_error "the log 'other' can't be opened: '.other.lock' $1" \
        "$WINDLASS" -N -f "$VOL" -l - "$MNT"
}
lock_refused 'is a symbolic link: remove it' ln -s ../precious
lock_refused 'has another name as well, a hard link: remove it' ln precious
lock_refused 'is a directory, not a plain file: remove it' mkdir
lock_refused 'is a pipe, not a plain file: remove it' mkfifo
lock_refused 'belongs to user 1234: remove it' install -o 1234 -m 600 /dev/null
lock_refused "is open to others \\(mode 0644\\): remove it, or 'chmod 600' it" \
    install -m 644 /dev/null
expect "what a link leads to" precious "$(cat precious)"
rm -rf records/.other.lock
chmod 644 records/open # a lock of one who may read does not hinder
need_command python3
python3 -c 'import fcntl, sys, time
file = open ("records/open")
fcntl.lockf (file, fcntl.LOCK_SH)
open ("locked", "w").close ()
time.sleep (600)' &
reader=$!
wait_until '[ -e locked ]'
mount_volfile "$VOL"
unmount
kill $reader
