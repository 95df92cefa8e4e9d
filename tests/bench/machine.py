# SPDX-License-Identifier: LGPL-2.1-or-later
"""On what was measured, and what else went on there: figures mean little without."""

import os
import platform
import re
import subprocess
import time

URING = "/sys/module/fuse/parameters/enable_uring"
HZ = os.sysconf("SC_CLK_TCK")


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def busy():
    """Nanoseconds that all CPUs were busy since the start."""
    fields = text_of("/proc/stat").split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) * 1000000000 // HZ


def foreign(seconds=1):
    """Percent of a CPU that others use while we do nothing."""
    before = busy()
    time.sleep(seconds)
    return (busy() - before) / 1e7 / seconds


def share_like_us(pid):
    """Makes another session's share of the processor as large as ours: autogroups begin with the
    ordinary one."""
    found = re.search(r"nice (-?\d+)", text_of("/proc/self/autogroup"))
    if not found or found.group(1) == "0":
        return
    try:
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:
            file.write(found.group(1))
    except OSError:
        pass  # then it has the ordinary one


def said(*command):
    """The first line that a program says, or nothing."""
    try:
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False).stdout.strip()
    except OSError:
        return ""
    return text.split("\n", 1)[0]


def libfuse_of(program):
    """The file of libfuse that a program is linked with: its name has the version."""
    try:
        text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout
    except OSError:
        return ""
    found = re.search(r"libfuse3?\.so\S* => (\S+)", text)
    return os.path.realpath(found.group(1)) if found else ""


def elf_of(program):
    """In a build tree the program is a wrapper, and the executable beside it."""
    for path in (os.path.join(os.path.dirname(program), "src", "windlass"), program):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return program


def is_debug(program):
    """Was the tree that the program is in configured so?"""
    return "--enable-debug" in text_of(os.path.join(os.path.dirname(os.path.realpath(program)),
                                                    "config.status"))


def state(bench):
    cpu = re.search(r"^model name\s*: (.*)$", text_of("/proc/cpuinfo"), re.M)
    memory = re.search(r"^MemTotal:\s*(\d+)", text_of("/proc/meminfo"), re.M)
    return {"when": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()) + " UTC",
            "kernel": platform.release(),
            "cpu": cpu.group(1) if cpu else platform.machine(), "cpus": os.cpu_count(),
            "memory_gib": round(int(memory.group(1)) / 1048576, 1) if memory else 0,
            "directory": bench.where, "file_system": said("stat", "-f", "-c", "%T", bench.where),
            "windlass": said(bench.windlass, "--version"), "program": bench.windlass,
            "debug": is_debug(bench.windlass),
            "libfuse": libfuse_of(elf_of(bench.windlass)),
            "peers": {"bindfs": said("bindfs", "--version"),
                      "glusterfs": said("glusterfs", "--version")},
            "io_uring": {"Y": "on", "N": "off"}.get(text_of(URING), "the kernel has none"),
            "load": text_of("/proc/loadavg").split(" ")[0], "others_percent": round(foreign(), 1)}


def lines(machine):
    """As text."""
    yield (f"{machine['when']}: {machine['cpus']} x {machine['cpu']}, {machine['memory_gib']} GiB, "
           f"Linux {machine['kernel']}")
    yield (f"in {machine['directory']} ({machine['file_system']}), FUSE over io_uring: "
           f"{machine['io_uring']}")
    yield (f"{machine['windlass']}{' (a debug build)' if machine.get('debug') else ''}, "
           f"{os.path.basename(machine['libfuse'] or 'libfuse unknown')}; "
           + ", ".join(version or f"no {name}" for name, version in machine["peers"].items()))
    yield f"before: load {machine['load']}, others used {machine['others_percent']} % of a CPU"
