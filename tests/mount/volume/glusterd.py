# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands for a glusterd that has one volfile: glusterd.py ADDRESS[:PORT] FILE [OTHERS]

Each question is answered with what FILE has then, and its bytes are added to FILE.asked. Before the first answer to each client, OTHERS
records come that are no answer: calls of the server, and answers to what was not asked.

A line "changed" on the standard input tells all clients that there is another volfile. It is
answered with a line."""
import socket
import struct
import sys
import threading

CALLBACK, FETCHSPEC = 52743234, 1
clients = []


def record(body):
    return struct.pack(">I", 0x80000000 | len(body)) + body


def call():
    return record(struct.pack(">10I", 7, 0, 2, CALLBACK, 1, FETCHSPEC, 0, 0, 0, 0))


def answer(xid, text):
    size = len(text)
    return record(struct.pack(">6I", xid, 1, 0, 0, 0, 0) + struct.pack(">iiI", size, 0, size)
                  + text + bytes(-size % 4) + struct.pack(">I", 0))


def receive(client, size):
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def serve(client, path, others):
    clients.append(client)
    while True:
        size = struct.unpack(">I", receive(client, 4))[0] & 0x7FFFFFFF
        question = receive(client, size)
        xid = struct.unpack(">I", question[:4])[0]
        with open(path + ".asked", "ab") as file:
            file.write(question)
        for i in range(others):
            client.sendall(call() if i % 2 else answer(xid + 1, b"not this one"))
        others = 0
        with open(path, "rb") as file:
            client.sendall(answer(xid, file.read()))


def try_serve(*arguments):
    try:
        serve(*arguments)
    except (EOFError, OSError):
        pass


def accept(listener, path, others):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=try_serve, args=(client, path, others), daemon=True).start()


def main(address, path, others=0):
    address, _, port = address.partition(":")
    listener = socket.create_server((address, int(port or 24007)))
    threading.Thread(target=accept, args=(listener, path, int(others)), daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        assert line.split() == ["changed"]
        for client in clients:
            try:
                client.sendall(call())
            except OSError:
                pass
        print("done", flush=True)


main(*sys.argv[1:])
