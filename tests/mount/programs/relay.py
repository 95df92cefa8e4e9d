# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands between a client and a brick: relay.py PORT BRICK-PORT

Bytes pass both ways. Each line of the standard input is an order:

    call PROCEDURE HEX   sends the client a call of the server (program 52743234), with arguments
    raw HEX              sends the client these bytes
    delay SECONDS        what the brick sends from now on reaches the client so much later
    lose PROCEDURE       the brick's answer to the client's next call of this procedure is lost
    record FILE          from now on the client's calls of the program of files, and the replies, are
                         written to the file, as tests/unit/wire.recorded has them
    close PROCEDURE      the client's next call of this procedure is lost, and its connection

An order is answered with a line."""
import contextlib
import socket
import struct
import sys
import threading
import time

CALLBACK = 52743234
FILES = 1298437
LAST_FRAGMENT = 0x80000000
state = {"delay": 0.0, "client": None, "lose": None, "close": None, "lost": set(), "file": None,
         "calls": {}}


def whole_records(source):
    pending = b""
    while data := source.recv(1 << 16):
        pending += data
        whole = b""
        while len(pending) >= 4:
            size = 4 + (struct.unpack(">I", pending[:4])[0] & ~LAST_FRAGMENT)
            if len(pending) < size:
                break
            write_down(pending[:size])
            if not is_lost(pending[:size]):
                whole += pending[:size]
            pending = pending[size:]
        yield whole


def write_down(record):
    """Writes a call and its reply once the reply is there. Both begin behind their headers."""
    if not state["file"]:
        return
    xid, direction = struct.unpack(">2I", record[4:12])
    if direction == 0:
        program, _, procedure, _, caller = struct.unpack(">5I", record[16:36])
        if program == FILES:
            state["calls"][xid] = procedure, record[44 + caller:]
    elif xid in state["calls"]:
        procedure, call = state["calls"].pop(xid)
        for what, fields in ("call", call), ("reply", record[28:]):
            state["file"].write(f"\n{procedure} {what}\n> {fields.hex()}\n")
        state["file"].flush()


def is_lost(record):
    """Whether an answer is one that an order loses; notes the number of such a call."""
    xid, direction = struct.unpack(">2I", record[4:12])
    if direction == 1:
        if xid not in state["lost"]:
            return False
        state["lost"].remove(xid)
        return True
    program, _, procedure = struct.unpack(">3I", record[16:28])
    if program == FILES and procedure == state["close"]:
        state["close"] = None
        raise ConnectionAbortedError
    if program == FILES and procedure == state["lose"]:
        state["lose"] = None
        state["lost"].add(xid)
    return False


def pass_on(source, target, slowly):
    for data in whole_records(source):
        if slowly:
            time.sleep(state["delay"])
        target.sendall(data)


def accept(listener, brick_port):
    while True:
        client, _ = listener.accept()
        try:
            brick = socket.create_connection(("127.0.0.1", brick_port))
        except OSError:
            client.close()
            continue
        state["client"] = client
        for ends in (client, brick, False), (brick, client, True):
            threading.Thread(target=try_pass_on, args=ends, daemon=True).start()


def try_pass_on(source, target, slowly):
    with contextlib.suppress(OSError):
        pass_on(source, target, slowly)
    for end in source, target:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def record(procedure, arguments):
    body = struct.pack(">10I", 7, 0, 2, CALLBACK, 1, procedure, 0, 0, 0, 0) + arguments
    return struct.pack(">I", 0x80000000 | len(body)) + body


def obey(order, *words):
    if order == "call":
        state["client"].sendall(record(int(words[0]), bytes.fromhex("".join(words[1:]))))
    elif order == "raw":
        state["client"].sendall(bytes.fromhex("".join(words)))
    elif order == "delay":
        state["delay"] = float(words[0])
    elif order in ("lose", "close"):
        state[order] = int(words[0])
    elif order == "record":
        state["file"] = open(words[0], "a", encoding="ascii")
    else:
        sys.exit(f"relay: unknown order '{order}'")


with socket.socket() as at:
    at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    at.bind(("127.0.0.1", int(sys.argv[1])))
    at.listen()
    threading.Thread(target=accept, args=(at, int(sys.argv[2])), daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        obey(*line.split())
        print("done", flush=True)
