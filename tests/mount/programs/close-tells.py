# SPDX-License-Identifier: LGPL-2.1-or-later
# close-tells.py MOUNT DIRECTORY: files that are written and closed in MOUNT, until DIRECTORY, which
# it shows, has no room. Each is complete in DIRECTORY as soon as it was closed, or an error was
# told.
import errno
import os
import sys

mount, directory = sys.argv[1:]
SIZE = 60000
good = bad = 0


def is_complete(name, data):
    with open(os.path.join(directory, name), "rb") as file:
        return file.read() == data


def written(name, data):
    """Writes a file; whether no error was told. An error that isn't ENOSPC ends the program."""
    errors = []
    try:
        fd = os.open(os.path.join(mount, name), os.O_WRONLY | os.O_CREAT, 0o644)
    except OSError as error:
        errors.append(error)
    else:
        try:
            while data:
                data = data[os.write(fd, data):]
        except OSError as error:
            errors.append(error)
        try:
            os.close(fd)
        except OSError as error:
            errors.append(error)
    for error in errors:
        if error.errno != errno.ENOSPC:
            raise error
    return not errors


# The bytes that one description wrote may come by the other.
name = os.path.join(mount, "two")
one, other = (os.open(name, os.O_RDWR | os.O_CREAT, 0o644) for _ in range(2))
for fd, text in (one, b"one"), (other, b"two"):
    os.pwrite(fd, text, 0)
os.fsync(one)
os.pwrite(one, b"new", 0)
os.close(one)
if not is_complete("two", b"new"):
    sys.exit("what was written before a close isn't in the directory")
os.close(other)

for number in range(60):
    name, data = f"f{number}", os.urandom(SIZE)
    if not written(name, data):
        bad += 1
    elif is_complete(name, data):
        good += 1
    else:
        sys.exit(f"'{name}' was closed without an error, and isn't complete in the directory")
if not good or not bad:
    sys.exit(f"{good} files were written, and {bad} were refused")
