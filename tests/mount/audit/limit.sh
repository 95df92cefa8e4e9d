#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit with a limit of the sizes of files: a log that can grow no further is rotated, and
# no record is lost, refused or torn, whatever when-full says; a write beyond the limit fails with
# EFBIG, and ends no daemon.
# through: device
. "$(dirname "$0")/../lib.sh"

need_root
need_command jq
mkdir records
printf 'mkdir -> record\n' >rules
stack "features/audit,log-directory=$TEST_DIR/records,when-full=fail,rules=$TEST_DIR/rules"
ulimit -S -f 32 # KiB
mount_volfile "$VOL"
ulimit -S -f unlimited
for i in {1..600}; do
    mkdir "$MNT/$i" || fail "mkdir $i failed"
done
expect_error 'File too large' dd if=/dev/zero of="$MNT/large" bs=4096 count=100
# The daemon's main thread, which blocks no signals, writes to its log.
printf '%40000s\n' "" >>"$LOG"
expect_ok "$WINDLASS" reload "$MNT"
expect_ok "$WINDLASS" explain "$MNT"
unmount
[ -e records/audit.log.2 ] || fail "the log was not rotated: $(ls -l records)"
expect "each operation once, in its order" "$(printf '/%s\n' {1..600})" \
    "$(cd records && ls -v -r audit.log* | xargs cat | jq -r 'select (.operation) | .path')"
expect "refused" "" "$(cat records/audit.log* | jq 'select (.refused or .gap)')"
