# SPDX-License-Identifier: LGPL-2.1-or-later
"""A brick of GlusterFS for a peer: glusterfsd on the loopback over the peer's directory, and the
volfiles of its clients. Windlass and GlusterFS's own client get the same ones."""

import contextlib
import socket
import subprocess
import time

import machine


def volume(name, kind, options, below=None):
    lines = [f"volume {name}", f"    type {kind}", *(f"    option {option}" for option in options)]
    if below:
        lines.append(f"    subvolumes {below}")
    return "\n".join([*lines, "end-volume", ""])


def stacked(*volumes):
    """Volumes (name, type, options...), from the lowest to the top one."""
    below, text = None, ""
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
        ("brick", "performance/io-threads"),
        ("server", "protocol/server", "transport-type tcp", "transport.address-family inet",
         "transport.socket.bind-address 127.0.0.1", f"transport.socket.listen-port {port}",
         "auth.addr.brick.allow 127.0.0.1"))


# What glusterd writes over protocol/client for a volume of one brick, but cluster/distribute, which
# has nothing to do there.
VOLUME = [("utime", "features/utime", "noatime on"), ("write-behind", "performance/write-behind"),
          ("open-behind", "performance/open-behind"), ("quick-read", "performance/quick-read"),
          ("md-cache", "performance/md-cache"), ("io-threads", "performance/io-threads"),
          ("home", "debug/io-stats")]


def client_volfile(port, above):
    return stacked(("client", "protocol/client", "transport-type tcp",
                    "transport.address-family inet", "remote-host 127.0.0.1",
                    f"remote-port {port}", "remote-subvolume brick"), *above)


def free_port():
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return any_socket.getsockname()[1]


class Brick:
    """glusterfsd over a folder, in a session of its own, as daemons have."""

    def __init__(self, bench, folder, path, pinned):
        self.port = free_port()
        with open(path + ".vol", "w", encoding="ascii") as file:
            file.write(server_volfile(folder, self.port))
        self.process = subprocess.Popen([*bench.on_cpu(pinned), "glusterfsd", "-N", "-f",
                                         path + ".vol", "-l", path + ".log"],
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
