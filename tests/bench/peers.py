# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who is compared: how each is mounted over a directory of its own, and what its daemon uses."""

import os
import shutil
import subprocess
import time

WINDLASS = "windlass"
ROT13 = "windlass+rot13"
BARE = "bare"
STACK, GLUSTERFS_STACK = "windlass+stack", "glusterfs+stack"  # volfiles/client-stack.vol, the same for both


class Unusable(Exception):
    """This peer can't be measured here; the text says why."""


def posix_volfile(peer, more=""):
    text = f"volume posix\n    type storage/posix\n    option directory {peer.back}\nend-volume\n{more}"
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text)
    return peer.path("x.vol")


def windlass_command(peer, more=""):
    volfile = posix_volfile(peer, more)
    return [peer.bench.windlass, "-N", "-f", volfile, "-l", peer.path("log"), *peer.options, peer.mnt]


def rot13_command(peer):
    return windlass_command(peer, "volume rot-13\n    type encryption/rot-13\n    subvolumes posix\nend-volume\n")


def stack_volfile(peer):
    with open(os.path.join(peer.bench.source, "volfiles", "client-stack.vol"), encoding="ascii") as file:
        text = file.read().replace("/srv/export", peer.back)
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text)
    return peer.path("x.vol")


def stack_command(peer):
    return [peer.bench.windlass, "-N", "-f", stack_volfile(peer), "-l", peer.path("log"), *peer.options, peer.mnt]


def bindfs_command(peer):
    return ["bindfs", "-f", *peer.options, peer.back, peer.mnt]


def glusterfs_command(peer):
    if os.geteuid() != 0:
        raise Unusable("its storage/posix needs root")
    return ["glusterfs", "-N", "-f", posix_volfile(peer), "-l", peer.path("log"), *peer.options, peer.mnt]


def glusterfs_stack_command(peer):
    return [word if word != peer.path("x.vol") else stack_volfile(peer) for word in glusterfs_command(peer)]


# Name, how it is started, its options. Everyone's attributes and names are good for a second, which is the default
# of GlusterFS and Windlass.
# bindfs-mt is bindfs as fast as it gets with that; its own default is one thread and writes of 4 KiB.
PEERS = [
    (BARE, None, []),
    (WINDLASS, windlass_command, []),
    (ROT13, rot13_command, []),
    ("bindfs", bindfs_command, []),
    ("bindfs-mt", bindfs_command, ["--multithreaded", "-o",
                                   "attr_timeout=1,entry_timeout=1,big_writes,max_write=131072"]),
    ("glusterfs", glusterfs_command, []),
    (STACK, stack_command, []),
    (GLUSTERFS_STACK, glusterfs_stack_command, []),
]


class Peer:
    """One of them, with a directory of its own below the bench's."""

    def __init__(self, bench, name, command, options):
        self.bench, self.name, self.command, self.options = bench, name, command, options
        self.top = os.path.join(bench.dir, name)
        self.back = self.path("back")
        self.mnt = self.path("mnt") if command else self.back
        self.daemon = None
        os.makedirs(self.back)
        os.makedirs(self.mnt, exist_ok=True)

    def path(self, name):
        return os.path.join(self.top, name)

    def start(self, pinned):
        """Mounts it, with nothing known to kernel or daemon."""
        if not self.command:
            return
        # In a session of its own, as a daemon is: the kernel shares the processor out among sessions, and within one
        # it would give several threads that wait in turn more than their caller.
        with open(self.path("output"), "wb") as output:
            self.daemon = subprocess.Popen(self.bench.on_cpu(pinned) + self.command(self), start_new_session=True,
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        until = time.monotonic() + 20
        while not os.path.ismount(self.mnt):
            if self.daemon.poll() is not None or time.monotonic() > until:
                with open(self.path("output"), encoding="utf-8", errors="replace") as output:
                    said = output.read().strip()
                self.stop()
                raise Unusable(f"it doesn't mount: {said or 'it says nothing'}")
            time.sleep(0.01)
        os.listdir(self.mnt)  # waits until it answers

    def stop(self):
        if not self.daemon:
            return
        if os.path.ismount(self.mnt):
            umount = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
            for _ in range(50):
                if subprocess.run([*umount, self.mnt], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                    break
                time.sleep(0.1)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None

    def restart(self, pinned):
        self.stop()
        self.start(pinned)

    def cpu(self):
        """Nanoseconds of CPU that the daemon has used."""
        if not self.daemon:
            return 0
        return time.clock_gettime_ns((~self.daemon.pid << 3) | 2)  # clock_getcpuclockid(3)

    def memory(self):
        """KiB of the daemon: resident, and written by itself alone."""
        if not self.daemon:
            return 0, 0
        with open(f"/proc/{self.daemon.pid}/smaps_rollup", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file if line.endswith("kB\n"))
        return int(rows["Rss"].split()[0]), int(rows["Private_Dirty"].split()[0])

    def settle(self):
        """Waits until the daemon has nothing left to do, such as files to release."""
        before = -1
        while self.cpu() != before:
            before = self.cpu()
            time.sleep(0.05)


def peers_of(bench, names):
    """Those named, or all; missing programs are left out, and said."""
    peers = []
    for name, command, options in PEERS:
        if names and name not in names:
            continue
        program = bench.windlass if name.startswith(WINDLASS) else name.split("-")[0].split("+")[0]
        if command and not shutil.which(program):
            bench.say(f"{name}: left out, it isn't installed")
            continue
        peers.append(Peer(bench, name, command, options))
    return peers
