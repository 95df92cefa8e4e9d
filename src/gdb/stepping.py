# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `step` steps over, and which signals aren't worth a stop."""

import gdb


def quietly(command):
    gdb.execute(command, to_string=True)


# `step` on STACK_WIND stops in the next translator's fop, and on STACK_UNWIND in the callback: it
# skips the functions of frames and buffers. To debug those, use `info skip` and `skip disable`.
if "^frame_" not in gdb.execute("info skip", to_string=True):
    quietly("skip -rfu ^frame_")
    quietly("skip -rfu ^(iov|iobuf|iobref)_")

# The kernel may close its end at any time, which raises SIGPIPE. The other signals are commands to
# the daemon, not reasons to stop.
for signal in ("SIGPIPE", "SIGHUP", "SIGUSR1", "SIGUSR2"):
    quietly("handle %s nostop noprint pass" % signal)
