# SPDX-License-Identifier: LGPL-2.1-or-later
# store-mapped.py FILE TEXT before|after: makes FILE one page long, maps it, and stores TEXT through
# the mapping, before or after it closes the file; then unmaps it. Prints the file's size and times
# at once.
import ctypes
import mmap
import os
import sys

path, text, when = sys.argv[1], sys.argv[2].encode(), sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
if os.fstat(fd).st_size != mmap.PAGESIZE:
    os.ftruncate(fd, mmap.PAGESIZE)
start = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
if start == ctypes.c_void_p(-1).value:
    sys.exit(f"mmap: {os.strerror(ctypes.get_errno())}")
os.stat(path)  # mmap has invalidated what the kernel knew of it
if when == "after":
    os.close(fd)
ctypes.memmove(start, text, len(text))
libc.munmap(start, mmap.PAGESIZE)
if when == "before":
    os.close(fd)
st = os.stat(path)
print(st.st_size, st.st_mtime_ns, st.st_ctime_ns)
