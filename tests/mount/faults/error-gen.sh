#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debug/error-gen: requests fail at the given rate, with the given error, and the same seed makes
# the same requests fail.
# builds: release debug tsan
. "$(dirname "$0")/../lib.sh"

# pattern N: how N looks at a file went, one letter each.
pattern () {
    for ((i = 0; i < $1; i++)); do
        if cat "$MNT/file" >/dev/null 2>>"$TEST_DIR/said"; then printf .; else printf x; fi
    done
}

echo hello >"$BACK/file"
echo other >"$BACK/other"
seed=4711
stack "debug/error-gen,failure=30%,error-no=EIO,enable=OPEN,seed=$seed"
mount_volfile "$VOL"
first=$(pattern 60)
expect_match "the error is the one that was asked for" 'Input/output error' \
    "$(cat "$TEST_DIR/said")"
unmount
failed=${first//./}
echo "seed $seed: $first"
[ ${#failed} -ge 8 ] && [ ${#failed} -le 30 ] || fail "of 60, 30% failed ${#failed} times: $first"
mount_volfile "$VOL"
expect "the same seed, the same failures" "$first" "$(pattern 60)"
unmount
mount_volfile "$VOL" --xlator-option error-gen-1.seed=4712
[ "$(pattern 60)" != "$first" ] || fail "another seed gives the same failures"
unmount

stack "debug/error-gen,failure=100%,error-no=EMLINK,error-fops=opendir"
mount_volfile "$VOL"
expect_error 'Too many links' ls "$MNT"
expect "a file all the same" hello "$(cat "$MNT/file")"
unmount

# One alone, by number, path and user.
stack "debug/error-gen,nth=2,error-no=ENODEV,enable=open,path=*/file"
mount_volfile "$VOL"
expect "other files don't count" otherotherother \
    "$(cat "$MNT/other" "$MNT/other" "$MNT/other" | tr -d '\n')"
expect "the second fails" .x. "$(pattern 3)"
unmount
if [ "$(id -u)" = 0 ]; then
    stack "debug/error-gen,failure=100%,uid=65534,enable=open"
    chmod 755 "$TEST_DIR" "$BACK"
    mount_volfile "$VOL" --options allow_other
    expect "root's don't" hello "$(cat "$MNT/file")"
    expect_error . user cat "$MNT/file"
    unmount
fi

# What made GlusterFS stop: random-failure without failure. And error-no counts without it.
stack "debug/error-gen,random-failure=on,error-no=EIO,enable=open,seed=1"
mount_volfile "$VOL"
first=$(pattern 100)
unmount
mount_volfile "$VOL"
expect "at intervals, the same again" "$first" "$(pattern 100)"
unmount
failed=${first//./}
[ ${#failed} -ge 2 ] && [ ${#failed} -le 33 ] || fail "intervals of 3 to 44 gave $first"

# Options change while it is mounted.
stack "debug/error-gen,failure=100%,error-no=EIO,enable=open"
mount_volfile "$VOL"
expect "all fail" xxx "$(pattern 3)"
sed -i 's/100%/0%/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "none fails" ... "$(pattern 3)"
sed -i 's/0%/100%/; s/EIO/EUCLEAN/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect_error 'needs cleaning' cat "$MNT/file"
unmount

# Writes that write half.
stack "debug/error-gen,failure=100%,error-no=GF_ERROR_SHORT_WRITE"
mount_volfile "$VOL"
if command -v python3 >/dev/null; then
    written=$(python3 -c 'import os, sys
print (os.write (os.open (sys.argv[1], os.O_WRONLY | os.O_CREAT), b"x" * 4096))' "$MNT/short")
    expect "how much was written" 2048 "$written"
    expect "how much is there" 2048 "$(stat -c %s "$BACK/short")"
fi
head -c 100000 /dev/urandom >whole
cp whole "$MNT/whole"
expect_ok cmp whole "$BACK/whole" # cp writes the rest
unmount

# What is refused, and where.
stack "debug/error-gen,enable=lokup"
expect_error \
    "test.vol:7:[0-9]*: .*'enable' must be operations.*'lokup' is no operation; did you mean 'lookup'\?" \
    "$WINDLASS" check "$VOL"
stack "debug/error-gen,error-no=EI0"
expect_error \
    "test.vol:7:[0-9]*: .*'error-no' must be the name of an error such as EIO.*, got 'EI0'" \
    "$WINDLASS" check "$VOL"
stack "debug/error-gen,seed=x"
expect_error "'seed' must be a whole number" "$WINDLASS" check "$VOL"
stack "debug/error-gen,enable=lookup%inodelk"
sed -i 's/lookup%inodelk/lookup, INODELK/' "$VOL"
expect_ok "$WINDLASS" check "$VOL"
