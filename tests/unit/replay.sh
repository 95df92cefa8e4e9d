#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/mount/debugging/replay.py, which replays documents: a command of a terminal begins when the
# one before it has ended, also in another block, while gdb's program runs.
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

cat >document.md <<'END'
## (a) Two commands of a terminal
```sh
$ gdb program
```
```gdb
(gdb) run
```
```sh
$ echo alone
alone
```
```sh
$ touch /tmp/next
```
END
cat >alone.py <<'END'
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import replay


class Alone(replay.Terminal):
    """A command that nobody has waited for may still run when the next one begins."""

    awaited = None

    def __init__(self, command, expected):
        if Alone.awaited:
            sys.exit("'%s' began before the end of '%s'" % (command, Alone.awaited))
        Alone.awaited = command
        super().__init__(command, expected)

    def finish(self):
        super().finish()
        Alone.awaited = None


replay.Terminal = Alone
replay.main()
END
PATH=$TEST_DIR/bin:$PATH python3 alone.py "$SOURCE_DIR/tests/mount/debugging" document.md a \
    /tmp/import=/ "/tmp/next=$TEST_DIR/next" || fail "two commands of a terminal run at a time"
[ -e next ] || fail "the last command did not run"
