#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""no-filters.py PROGRAM ARGUMENT...: runs a program as root that can set no filter of system calls:
seccomp(2) fails with ENOSYS, and prctl(PR_SET_SECCOMP) with EINVAL, as without CONFIG_SECCOMP."""

import ctypes
import errno
import os
import platform
import struct
import sys

SECCOMP, PRCTL = {"x86_64": (317, 157), "aarch64": (277, 167), "ppc64le": (358, 171)}[
    platform.machine()]
PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, FAIL = 0x7fff0000, 0x00050000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h, linux/filter.h
NUMBER, ARGUMENT = 0, 16  # in struct seccomp_data
program = b"".join(struct.pack("HBBI", *line) for line in (
    (LOAD, 0, 0, NUMBER),
    (EQUAL, 4, 0, SECCOMP),
    (EQUAL, 0, 2, PRCTL),
    (LOAD, 0, 0, ARGUMENT),
    (EQUAL, 2, 0, PR_SET_SECCOMP),
    (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, FAIL | errno.ENOSYS),
    (RETURN, 0, 0, FAIL | errno.EINVAL),
))
lines = ctypes.create_string_buffer(program)
rule = ctypes.create_string_buffer(struct.pack("HP", len(program) // 8, ctypes.addressof(lines)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, rule, 0, 0) != 0:
    sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
