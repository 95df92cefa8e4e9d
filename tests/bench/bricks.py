# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bricks of GlusterFS for a peer: each a glusterfsd on the loopback over a folder of the peer's
directory, and the volfiles of their clients. Windlass and GlusterFS's own client get the same
ones."""

import contextlib
import os
import socket
import subprocess
import time
from typing import NamedTuple

import machine


def volume(name, kind, options, below=""):
    lines = [f"volume {name}", f"    type {kind}", *(f"    option {option}" for option in options)]
    if below:
        lines.append(f"    subvolumes {below}")
    return "\n".join([*lines, "end-volume", ""])


def stacked(*volumes, below=""):
    """Volumes (name, type, options...), from the lowest to the top one."""
    text = ""
    for name, kind, *options in volumes:
        text += volume(name, kind, options, below)
        below = name
    return text


def server_volfile(folder, port):
    return stacked(
        ("posix", "storage/posix", f"directory {folder}"),
        ("access-control", "features/access-control"),
        ("locks", "features/locks"),
        ("upcall", "features/upcall", "cache-invalidation off"),
        ("io-threads", "performance/io-threads"),
        ("brick", "features/index", f"index-base {folder}/.glusterfs/indices",
         "xattrop-dirty-watchlist trusted.afr.dirty",
         "xattrop-pending-watchlist trusted.afr.home-"),
        ("server", "protocol/server", "transport-type tcp", "transport.address-family inet",
         "transport.socket.bind-address 127.0.0.1", f"transport.socket.listen-port {port}",
         "auth.addr.brick.allow 127.0.0.1"))


# What glusterd writes over the clients of a volume.
PERFORMANCE = [("utime", "features/utime", "noatime on"),
               ("write-behind", "performance/write-behind"),
               ("open-behind", "performance/open-behind"),
               ("quick-read", "performance/quick-read"), ("md-cache", "performance/md-cache"),
               ("io-threads", "performance/io-threads"), ("home", "debug/io-stats")]


class Shape(NamedTuple):
    """So many bricks, the volume above their clients, if any, and those above it."""
    bricks: int
    cluster: list
    above: list


def clients(count):
    return [f"home-client-{number}" for number in range(count)]


# A volume of one brick lacks cluster/distribute, which has nothing to do there.
SHAPES = {
    "brick": Shape(1, [], []),
    "volume": Shape(1, [], PERFORMANCE),
    "distribute": Shape(4, ["home-dht", "cluster/distribute"], PERFORMANCE),
    "replicate": Shape(3, ["home-replicate-0", "cluster/replicate", "quorum-type auto",
                           "afr-pending-xattr " + ",".join(clients(3)), "granular-entry-heal on"],
                       PERFORMANCE),
}


def client_volfile(shape, ports):
    names = clients(len(ports))
    text = "".join(volume(name, "protocol/client",
                          ["transport-type tcp", "transport.address-family inet",
                           "remote-host 127.0.0.1", f"remote-port {port}",
                           "remote-subvolume brick"])
                   for name, port in zip(names, ports))
    cluster = [shape.cluster] if shape.cluster else []
    return text + stacked(*cluster, *shape.above, below=" ".join(names))


def free_port():
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return any_socket.getsockname()[1]


class Brick:
    """glusterfsd over a folder, in a session of its own, as daemons have."""

    def __init__(self, bench, folder, path, pinned):
        os.makedirs(os.path.join(folder, ".glusterfs"), 0o700, exist_ok=True)  # features/index
        self.port, self.log = free_port(), path + ".log"
        with open(path + ".vol", "w", encoding="ascii") as file:
            file.write(server_volfile(folder, self.port))
        self.process = subprocess.Popen([*bench.on_cpu(pinned), "glusterfsd", "-N", "-f",
                                         path + ".vol", "-l", self.log],
                                        start_new_session=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        machine.share_like_us(self.process.pid)

    def listens(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False

    def wait(self):
        """Returns whether it can be connected to before 20 seconds are over."""
        until = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < until:
            if self.listens():
                return True
            time.sleep(0.01)
        return False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
