#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/mount/replay.py, which replays documents: a command of a terminal begins when the one before
# it has ended, also in another block, while gdb's program runs.
. "$(dirname "$0")/../mount/lib.sh"
need_command python3

# A gdb whose program runs until its input ends.
mkdir bin
cat >bin/gdb <<'END'
#!/bin/sh
while printf '(gdb) ' && read -r command && [ "$command" != run ]; do :; done
exec cat >/dev/null
END
chmod +x bin/gdb

# The first command looks for a second whether the next one has begun.
cat >document.md <<'END'
## (a) Two commands of a terminal
```sh
$ gdb program
```
```gdb
(gdb) run
```
```sh
$ timeout 1 sh -c 'until [ -e /tmp/next ]; do sleep 0.01; done' || echo alone
alone
```
```sh
$ touch /tmp/next
```
END
PATH=$TEST_DIR/bin:$PATH python3 "$SOURCE_DIR/tests/mount/replay.py" document.md a \
    /tmp/import=/ "/tmp/next=$TEST_DIR/next" || fail "two commands of a terminal run at a time"
[ -e next ] || fail "the last command did not run"
