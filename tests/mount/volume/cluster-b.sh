#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# doc/cluster.md, (b): a volume of glusterd, as it stands there. `gluster` is led to the glusterd of
# this test, and `systemctl` finds it running.
# builds: release only
. "$(dirname "$0")/../brick/lib.sh"
. "$(dirname "$0")/../debugging/replay-lib.sh"
need_command glusterd gluster
server=127.1.1.1

mkdir bin
# For glusterd a killed process is there until init has waited for it; not every machine's does.
cat >bin/gluster <<END
#!/bin/sh
case "\$*" in *force) find $TEST_DIR/glusterd* -name '*b2.pid' -delete ;; esac
exec $(command -v gluster) --glusterd-sock=$TEST_DIR/glusterd.socket "\$@"
END
printf '#!/bin/sh\n' >bin/systemctl
chmod +x bin/*
export PATH=$TEST_DIR/bin:$PATH
glusterd_begin $server
replay doc/cluster.md b "\$(hostname)=$server"
