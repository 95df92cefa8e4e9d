# SPDX-License-Identifier: LGPL-2.1-or-later
# map-late.py FILE TEXT: makes FILE of one page of zeros, maps and closes it, and only then stores
# TEXT through the mapping, and unmaps it. The kernel writes the page back then.
import ctypes
import mmap
import os
import sys

path, text = sys.argv[1], sys.argv[2].encode()
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
os.ftruncate(fd, mmap.PAGESIZE)
start = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
if start == ctypes.c_void_p(-1).value:
    sys.exit(f"mmap: {os.strerror(ctypes.get_errno())}")
os.close(fd)
ctypes.memmove(start, text, len(text))
libc.munmap(start, mmap.PAGESIZE)
