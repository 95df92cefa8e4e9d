#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program is compiled on a mount, by make, and runs from there; while it runs it can't be written.
. "$(dirname "$0")/../lib.sh"
need_command gcc make

stack encryption/rot-13
mount_volfile "$VOL"
cd "$MNT" || exit 1
cat >hello.c <<'END'
#include <stdio.h>
#include <unistd.h>
const char *greeting (void);
int
main (int argc, char **argv)
{
    puts (greeting ());
    fflush (stdout);
    return argc > 1 ? (int) read (0, argv[0], 1) : 0;
}
END
echo 'const char *greeting (void) { return "hello from the mount"; }' >greeting.c
printf 'hello: hello.o libgreeting.so\n\tgcc -o $@ $< -L. -lgreeting -Wl,-rpath,%s\n' \
    "$MNT" >Makefile
printf 'libgreeting.so: greeting.c\n\tgcc -shared -fPIC -o $@ $<\n' >>Makefile
expect_ok make
expect "what it says" "hello from the mount" "$(./hello)"
expect_match "a second make" "up to date" "$(make)"
touch greeting.c
expect_match "a third" "greeting.c" "$(make)"

mkfifo "$TEST_DIR/wait"
./hello running <"$TEST_DIR/wait" >"$TEST_DIR/said" &
running=$!
exec 5>"$TEST_DIR/wait"
wait_until "grep -q hello '$TEST_DIR/said'"
expect_error 'Text file busy' sh -c 'echo >>hello'
exec 5>&-
wait $running || fail "the program failed"
cd "$TEST_DIR" || exit 1
