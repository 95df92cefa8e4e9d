# SPDX-License-Identifier: LGPL-2.1-or-later
"""The peers: how each is mounted over a directory of its own, and what its daemon uses."""

import ctypes
import os
import re
import shutil
import subprocess
import time

import bricks
import machine

WINDLASS = "windlass"
CLASSIC, PASS, URING, PASS_URING = ("windlass-classic", "windlass-pass", "windlass-uring",
                                    "windlass-pass-uring")
AS_HP = "windlass-as-hp"
ROT13 = "windlass+rot13"
AUDIT, AUDIT_ALL, AUDIT_NONE = "windlass+audit", "windlass+audit-all", "windlass+audit-none"
TRASH = "windlass+trash"
# A view of the directory, whose changes go to another one.
# fuse-overlayfs has the kernel keep names and attributes for good, as --exclusive does.
OVERLAY, FUSE_OVERLAYFS = "windlass+overlay", "fuse-overlayfs"
OVERLAY_EXCLUSIVE = OVERLAY + "-exclusive"
BARE = "bare"
EXCLUSIVE = "windlass-exclusive"
# Volfiles/client-stack.vol, the same for both.
STACK, GLUSTERFS_STACK = "windlass+stack", "glusterfs+stack"
STACK_WITHOUT = STACK + "-without-io-threads"
GLUSTERFS = "glusterfs"
# Clients of GlusterFS's bricks, with the same volfiles: protocol/client alone, and with all that
# glusterd puts above it; four bricks with different files, three with the same ones. -0: the kernel
# asks again for each name and each attribute.
BRICK, GLUSTERFS_BRICK = "windlass+brick", "glusterfs+brick"
VOLUME, GLUSTERFS_VOLUME = "windlass+volume", "glusterfs+volume"
DISTRIBUTE, GLUSTERFS_DISTRIBUTE = "windlass+distribute", "glusterfs+distribute"
REPLICATE, GLUSTERFS_REPLICATE = "windlass+replicate", "glusterfs+replicate"
HP_SEES = "hp-nopass"  # all reads and writes come to it
HP_NO_CACHE = HP_SEES + "-nocache"  # and the kernel keeps nothing


class Unusable(Exception):
    """This peer can't be measured here; the text says why."""


def posix_volfile(peer, more=""):
    text = (f"volume posix\n    type storage/posix\n    option directory {peer.back}\nend-volume\n"
            f"{more}")
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text)
    return peer.path("x.vol")


def windlass_command(peer, more=""):
    volfile = posix_volfile(peer, more)
    return [peer.bench.windlass, "-N", "-f", volfile, "-l", peer.path("log"), *peer.options,
            peer.mnt]


def rot13_command(peer):
    return windlass_command(peer,
                            "volume rot-13\n    type encryption/rot-13\n    subvolumes posix\n"
                            "end-volume\n")


def audit_command(peer, rules=None):
    os.makedirs(peer.path("records"), exist_ok=True)
    chosen = ""
    if rules:
        chosen = f"    option rules {peer.path('rules')}\n"
        with open(peer.path("rules"), "w", encoding="ascii") as file:
            file.write(rules)
    return windlass_command(peer, "volume audit\n    type features/audit\n    option log-directory "
                            f"{peer.path('records')}\n{chosen}    subvolumes posix\nend-volume\n")


def audit_all_command(peer):
    return audit_command(peer, "* -> record\n")


def audit_none_command(peer):
    """Its rule is for no call of the load, and not for lookup and stat: then the kernel would keep
    no names."""
    return audit_command(peer, "write-ops,open,readv path \"/nothing/*\" -> record\n")


def trash_command(peer):
    """It keeps what a process has made itself less than a minute ago as well, or the load would
    remove its files for good."""
    return windlass_command(peer, "volume trash\n    type features/trash\n"
                            "    option temporaries 0\n    subvolumes posix\nend-volume\n")


def overlay_command(peer):
    """The changes stay for the next round, as those of a directory do."""
    os.makedirs(peer.path("changes"), exist_ok=True)
    return windlass_command(peer, "volume changes\n    type storage/posix\n    option directory "
                            f"{peer.path('changes')}\nend-volume\nvolume overlay\n"
                            "    type cluster/overlay\n    subvolumes changes posix\nend-volume\n")


def fuse_overlayfs_command(peer):
    for name in ("upper", "work"):
        os.makedirs(peer.path(name), exist_ok=True)
    return ["fuse-overlayfs", "-f", "-o", f"lowerdir={peer.back},upperdir={peer.path('upper')},"
            f"workdir={peer.path('work')}", *peer.options, peer.mnt]


def stack_volfile(peer):
    with open(os.path.join(peer.bench.source, "volfiles", "client-stack.vol"),
              encoding="ascii") as file:
        text = file.read().replace("/srv/export", peer.back)
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text)
    return peer.path("x.vol")


def stack_command(peer):
    return [peer.bench.windlass, "-N", "-f", stack_volfile(peer), "-l",
            peer.path("log"), *peer.options, peer.mnt]


def stack_without_command(peer):
    """The same stack, in which the translator above io-threads stands on the one below it."""
    command = stack_command(peer)
    with open(peer.path("x.vol"), encoding="ascii") as file:
        text = file.read()
    text = re.sub(r"volume io-threads\n.*?end-volume\n", "", text,
                  flags=re.S).replace("subvolumes io-threads", "subvolumes md-cache")
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(text)
    return command


def bindfs_command(peer):
    return ["bindfs", "-f", *peer.options, peer.back, peer.mnt]


def glusterfs_command(peer, more=""):
    if os.geteuid() != 0:
        raise Unusable("its storage/posix needs root")
    return ["glusterfs", "-N", "-f", posix_volfile(peer, more), "-l",
            peer.path("log"), *peer.options, peer.mnt]


def glusterfs_stack_command(peer):
    return [word if word != peer.path("x.vol") else stack_volfile(peer)
            for word in glusterfs_command(peer)]


def client_volfile(peer, shape):
    ports = peer.start_bricks(shape.bricks)
    with open(peer.path("x.vol"), "w", encoding="ascii") as file:
        file.write(bricks.client_volfile(shape, ports))
    return peer.path("x.vol")


def client_of(program, shape):
    """How `program` is mounted over the bricks of such a volume."""
    def command(peer):
        return [peer.bench.windlass if program == WINDLASS else program, "-N", "-f",
                client_volfile(peer, shape), "-l", peer.path("log"), *peer.options, peer.mnt]

    return command


def hp_command(peer):
    return [peer.bench.example("passthrough_hp"), "--foreground", *peer.options, peer.back,
            peer.mnt]


def ll_command(peer):
    return [peer.bench.example("passthrough_ll"), "-f", *peer.options, "-o",
            f"source={peer.back},timeout=1", peer.mnt]


def fast(passthrough, uring):
    return [f"--passthrough={passthrough}", f"--io-uring={uring}"]


# What a peer needs: options that this build of the program may not have yet, FUSE over io_uring, a
# program.
NEEDS_FAST, NEEDS_URING, NEEDS_HP = "fast", "uring", "hp"
NEEDS_LL, NEEDS_BINDFS, NEEDS_GLUSTERFS, NEEDS_BRICK = "ll", "bindfs", "glusterfs", "brick"
NEEDS_FUSE_OVERLAYFS = "fuse-overlayfs"

ASK_AGAIN = ["--attribute-timeout=0", "--entry-timeout=0"]


def brick_peers(name):
    shape, ours, theirs = bricks.SHAPES[name], f"{WINDLASS}+{name}", f"{GLUSTERFS}+{name}"
    windlass, stock = client_of(WINDLASS, shape), client_of(GLUSTERFS, shape)
    needs, fast_needs = (NEEDS_BRICK,), (NEEDS_BRICK, NEEDS_FAST)
    return [(ours, windlass, [], needs), (theirs, stock, [], needs),
            (ours + "-0", windlass, ASK_AGAIN, needs), (theirs + "-0", stock, ASK_AGAIN, needs),
            (ours + "-classic", windlass, fast("off", "off"), fast_needs),
            (ours + "-classic-0", windlass, fast("off", "off") + ASK_AGAIN, fast_needs)]


EXCLUSIVE_WB = ["--exclusive", "--kernel-writeback-cache=on"]

# A row has the name, how the peer is started, its options, and what it needs. Attributes and names
# are valid for a second, which is the default of GlusterFS and Windlass. passthrough_hp's are valid
# for a day, and no option changes that. windlass-as-hp promises no more. It also has the kernel
# check no rights, which hp does not: a change of a name costs it one getattr of the directory less.
# windlass and windlass+stack run with their defaults, and use everything that the machine has.
# bindfs-mt is bindfs with its fastest options; its own default is one thread and writes of 4 KiB.
# With -wb the kernel collects writes.
PEERS = [
    (BARE, None, [], ()),
    (WINDLASS, windlass_command, [], ()),
    (CLASSIC, windlass_command, fast("off", "off"), (NEEDS_FAST,)),
    (PASS, windlass_command, fast("required", "off"), (NEEDS_FAST,)),
    (URING, windlass_command, fast("off", "required"), (NEEDS_FAST, NEEDS_URING)),
    (PASS_URING, windlass_command, fast("required", "required"), (NEEDS_FAST, NEEDS_URING)),
    (AS_HP, windlass_command, [*fast("required", "required"), "--entry-timeout=86400",
                               "--attribute-timeout=86400",
                               "-o", "no_allow_other,no_default_permissions"],
                               (NEEDS_FAST, NEEDS_URING)),
    (EXCLUSIVE, windlass_command, ["--exclusive"], ()),
    (ROT13, rot13_command, [], ()),
    (ROT13 + "-classic", rot13_command, fast("off", "off"), (NEEDS_FAST,)),
    (ROT13 + "-wb", rot13_command, ["--kernel-writeback-cache=on"], ()),
    (ROT13 + "-exclusive-wb", rot13_command, EXCLUSIVE_WB, ()),
    (AUDIT, audit_command, [], ()),
    (AUDIT_ALL, audit_all_command, [], ()),
    (AUDIT_NONE, audit_none_command, [], ()),
    (TRASH, trash_command, [], ()),
    (OVERLAY, overlay_command, [], ()),
    (OVERLAY_EXCLUSIVE, overlay_command, ["--exclusive"], ()),
    (FUSE_OVERLAYFS, fuse_overlayfs_command, [], (NEEDS_FUSE_OVERLAYFS,)),
    (STACK, stack_command, [], ()),
    (STACK_WITHOUT, stack_without_command, [], ()),
    (STACK + "-wb", stack_command, ["--kernel-writeback-cache=on"], ()),
    (STACK + "-exclusive-wb", stack_command, EXCLUSIVE_WB, ()),
    (STACK + "-classic", stack_command, fast("off", "off"), (NEEDS_FAST,)),
    ("bindfs", bindfs_command, [], (NEEDS_BINDFS,)),
    ("bindfs-mt", bindfs_command,
     ["--multithreaded", "-o", "attr_timeout=1,entry_timeout=1,big_writes,max_write=131072"],
     (NEEDS_BINDFS,)),
    (GLUSTERFS, glusterfs_command, [], (NEEDS_GLUSTERFS,)),
    (GLUSTERFS_STACK, glusterfs_stack_command, [], (NEEDS_GLUSTERFS,)),
    *(peer for name in bricks.SHAPES for peer in brick_peers(name)),
    ("hp", hp_command, [], (NEEDS_HP,)),
    ("hp-uring", hp_command, ["-o", "io_uring"], (NEEDS_HP, NEEDS_URING)),
    (HP_SEES, hp_command, ["--nopassthrough"], (NEEDS_HP,)),
    (HP_SEES + "-uring", hp_command, ["--nopassthrough", "-o", "io_uring"],
     (NEEDS_HP, NEEDS_URING)),
    (HP_NO_CACHE + "-uring", hp_command, ["--nopassthrough", "--nocache", "-o", "io_uring"],
     (NEEDS_HP, NEEDS_URING)),
    ("ll", ll_command, ["-o", "cache=auto"], (NEEDS_LL,)),
    ("ll-uring", ll_command, ["-o", "cache=auto,io_uring"], (NEEDS_LL, NEEDS_URING)),
    ("ll-wb", ll_command, ["-o", "cache=always,writeback"], (NEEDS_LL,)),
    ("ll-wb-uring", ll_command, ["-o", "cache=always,writeback,io_uring"], (NEEDS_LL, NEEDS_URING)),
]
# Of whom a quick run is content.
QUICK = [BARE, WINDLASS, CLASSIC, STACK, "bindfs-mt", GLUSTERFS, "hp-uring", "ll"]


def cpu_of(pid):
    return time.clock_gettime_ns((~pid << 3) | 2)  # clock_getcpuclockid(3)


class Peer:
    """One of them, with a directory of its own below the bench's."""

    def __init__(self, bench, name, command, options, back=None):
        self.bench, self.name, self.command, self.options = bench, name, command, options
        self.top = os.path.join(bench.dir, name)
        self.back = back or self.path("back")
        self.mnt = self.path("mnt") if command else self.back
        self.daemon, self.bricks = None, []
        self.pinned = False
        os.makedirs(self.back, exist_ok=True)
        os.makedirs(self.top, exist_ok=True)
        os.makedirs(self.mnt, exist_ok=True)

    def over(self, back):
        """The same one, over another directory, which several may have at a time."""
        return Peer(self.bench, self.name, self.command, self.options, back)

    @property
    def behind(self):
        """Where the files of a section are made and removed, which is not measured. Bricks have to
        see each of them themselves."""
        return self.mnt if self.bricks else self.back

    @property
    def above(self):
        """Where all files are, also those that a view keeps elsewhere."""
        views = (OVERLAY, OVERLAY_EXCLUSIVE, FUSE_OVERLAYFS)
        return self.mnt if self.name in views else self.behind

    def path(self, name):
        return os.path.join(self.top, name)

    def start_bricks(self, count):
        """Returns the ports of so many bricks below the peer's directory, which end with the
        mount."""
        for number in range(count):
            name = f"brick{number}"
            self.bricks.append(bricks.Brick(self.bench, os.path.join(self.back, name),
                                            self.path(name), self.pinned))
        for brick in self.bricks:
            if not brick.wait():
                raise Unusable("its brick doesn't listen: " + machine.text_of(brick.log)[-300:])
        return [brick.port for brick in self.bricks]

    def start(self, pinned):
        """Mounts it, with nothing known to kernel or daemon."""
        if not self.command:
            return
        self.pinned = pinned
        # The daemon gets a session of its own, as daemons have. The kernel divides the processor
        # among sessions; within one session it would give several threads that wait in turn more
        # than their caller.
        with open(self.path("output"), "wb") as output:
            self.daemon = subprocess.Popen(self.bench.on_cpu(pinned) + self.command(self),
                                           start_new_session=True,
                                           stdin=subprocess.DEVNULL, stdout=output,
                                           stderr=subprocess.STDOUT)
        machine.share_like_us(self.daemon.pid)
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
        self.unmount()
        for brick in self.bricks:
            brick.stop()
        self.bricks = []

    def unmount(self):
        if not self.daemon:
            return
        if os.path.ismount(self.mnt):
            umount = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
            for _ in range(50):
                if subprocess.run([*umount, self.mnt], stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0:
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

    def pin(self, pinned):
        """Has the daemon, as it runs, on one CPU, or on all of them again."""
        cpus = self.bench.cpu if pinned else ",".join(map(str, sorted(os.sched_getaffinity(0))))
        subprocess.run(["taskset", "-a", "-p", "-c", cpus, str(self.daemon.pid)],
                       stdout=subprocess.DEVNULL, check=True)

    def cpu(self):
        """Nanoseconds of CPU that the daemon has used."""
        if not self.daemon:
            return 0
        return cpu_of(self.daemon.pid)

    def server_cpu(self):
        """The same of its bricks."""
        return sum(cpu_of(brick.process.pid) for brick in self.bricks)

    def memory(self):
        """KiB of the daemon: resident, at the peak, and written by itself alone."""
        if not self.daemon:
            return 0, 0, 0
        rows = {}
        for name in ("smaps_rollup", "status"):
            for row in machine.text_of(f"/proc/{self.daemon.pid}/{name}").split("\n"):
                if row.endswith("kB"):
                    rows.setdefault(row.split(":", 1)[0], int(row.split()[1]))
        return rows["Rss"], rows["VmHWM"], rows["Private_Dirty"]

    def forget(self):
        """Has the kernel forget all that it knows of this mount, and of nothing else: a remount
        does that first. Several times, since a directory becomes unused only after its entries."""
        libc = ctypes.CDLL(None, use_errno=True)
        remount, nosuid_nodev = 32, 6
        for _ in range(3):
            if (self.daemon
                and libc.mount(None, self.mnt.encode(), None, remount | nosuid_nodev, None) < 0):
                raise Unusable(f"it can't be remounted: {os.strerror(ctypes.get_errno())}")
            self.settle()

    def settle(self):
        """Waits until the daemon has nothing left to do, such as files to release."""
        before = -1
        while self.cpu() != before:
            before = self.cpu()
            time.sleep(0.05)


def unknown(bench, options):
    """Those of fast's options that this build doesn't have."""
    return [option for option in options if option.startswith(("--passthrough=", "--io-uring="))
            and not bench.has_option(option[2:].split("=")[0])]


def lacking(bench, needs, options):
    """Why a peer can't be, or nothing."""
    missing = unknown(bench, options)
    if (NEEDS_FAST in needs
        and (len(missing) == 2 or any(option.endswith("=required") for option in missing))):
        return "this build of Windlass has no " + " and no ".join(option.split("=")[0]
                                                                  for option in missing)
    if NEEDS_URING in needs and machine.text_of(machine.URING) != "Y":
        return f"FUSE over io_uring is off: as root, echo Y >{machine.URING}"
    if NEEDS_BRICK in needs and os.geteuid() != 0:
        return "a brick needs root"
    for need, program in ((NEEDS_BINDFS, "bindfs"), (NEEDS_GLUSTERFS, "glusterfs"),
                          (NEEDS_FUSE_OVERLAYFS, "fuse-overlayfs"),
                          (NEEDS_BRICK, "glusterfs"), (NEEDS_BRICK, "glusterfsd")):
        if need in needs and not shutil.which(program):
            return f"{program} isn't installed"
    for need, program in ((NEEDS_HP, "passthrough_hp"), (NEEDS_LL, "passthrough_ll")):
        if need in needs and not bench.example(program):
            return f"there is no {program}: tools/build-libfuse --examples builds it"
    return None


def peers_of(bench, names):
    """Those named, but those that can't be, which is said once for each reason."""
    peers, out = [], {}
    for name, command, options, needs in PEERS:
        if name not in names:
            continue
        reason = lacking(bench, needs, options)
        if reason:
            out.setdefault(reason, []).append(name)
        else:
            peers.append(Peer(bench, name, command, [option for option in options
                                                     if option not in unknown(bench, options)]))
    for reason, left_out in out.items():
        bench.say(f"left out: {', '.join(left_out)}: {reason}")
    return peers
