# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `step` steps over, and which signals aren't worth a stop."""

import gdb


def quietly(command):
    gdb.execute(command, to_string=True)


# `step` on STACK_WIND lands in the next translator's fop and on STACK_UNWIND in the callback, not in the frame's own
# bookkeeping; nor in that of buffers. `info skip` and `skip disable` are for whoever debugs those.
if "^frame_" not in gdb.execute("info skip", to_string=True):
    quietly("skip -rfu ^frame_")
    quietly("skip -rfu ^(iov|iobuf|iobref)_")

# The kernel closes its end whenever it likes; and these are what a daemon is told with, not why one debugs it.
for signal in ("SIGPIPE", "SIGHUP", "SIGUSR1", "SIGUSR2"):
    quietly("handle %s nostop noprint pass" % signal)
