#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# features/audit: of a file with several names the record has one that the rule's pattern matches.
. "$(dirname "$0")/../lib.sh"

need_command jq
mkdir records
LOGFILE=$TEST_DIR/records/audit.log
echo 'open,readv path "/zz*" -> record' >rules
stack "features/audit,log-directory=$TEST_DIR/records,rules=$TEST_DIR/rules"
mount_volfile "$VOL"
echo text >"$BACK/zz"
ln "$BACK/zz" "$BACK/other"
cat "$MNT/zz" "$MNT/other" "$MNT/zz" >/dev/null
cat "$MNT/other" >/dev/null
expect "the paths" /zz "$(jq -r 'select (.operation) | .path' "$LOGFILE" | sort -u)"
[ "$(jq -r 'select (.operation == "open") | .path' "$LOGFILE" | wc -l)" -ge 3 ] ||
    fail "not recorded: $(cat "$LOGFILE")"
unmount
