#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over features/audit: alone, twice, above caches, with rules that ask for the
# attributes of each file, and with errors of storage: it changes no answer.
# longer
. "$(dirname "$0")/histories-lib.sh"

audit=features/audit,log-directory=$TEST_DIR
printf '* owner 4000000000.. -> skip\n* mode /0777 -> record\n' >rules

run 51 -- "$audit"
run 52 --faults 50 -- "$audit,rules=$TEST_DIR/rules"
run 53 -- "$audit,rules=$TEST_DIR/rules" "$audit,log-name=other.log"
run 54 --faults 50 -- performance/write-behind performance/md-cache "$audit,when-full=block" \
    encryption/rot-13
[ -s audit.log ] || fail "there are no records"
