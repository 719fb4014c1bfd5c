# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests what other programs can do to a run on several hosts: nothing without its token, and with it no more than end it with an error.

The greeting, the signed texts and the frames are written here once more, from their descriptions.
"""
import hashlib
import hmac
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

import numpy as np

from commands import PATIENCE, run

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
# Four ranks: two "hosts" of two processes.
run("make-test-package", folder / "package", "none")
np.save(folder / "x.npy", (np.arange(96) % 13 - 5).astype("f4") / 3)
TOKEN = "0123456789abcdef-a-token"
(folder / "token").write_text(TOKEN + "\n")
(folder / "other").write_text("another-token-of-the-same-kind\n")
(folder / "short").write_text("short\n")


def find_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(node, port, *options, nodes=2, processes=2, token="token", rendezvous=True):
    command = ["dist-run", folder / "package", f"--data=x={folder}/x.npy", "--quiet", f"--nproc={processes}", f"--flight-recorder={folder}/flight",
               *options]
    if rendezvous:
        command += [f"--nnodes={nodes}", f"--node-rank={node}", f"--rendezvous=127.0.0.1:{port}"]
    if token:
        command.append(f"--token-file={folder}/{token}")
    environment = {name: value for name, value in os.environ.items() if name != "MESHWRIGHT_TOKEN"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process, status, pattern):
    out, err = process.communicate(timeout=60 * PATIENCE)
    if process.returncode != status or not re.search(pattern, err):
        sys.exit(f"{process.args}: exit {process.returncode} where {status} is wanted, with {pattern}:\n{out}{err}")
    return err


def connect(port):
    for _ in range(int(200 * PATIENCE)):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20 * PATIENCE)
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit(f"nothing listens at port {port}")


def get_listeners(port):
    """The addresses at which the port is listened on, as the system writes them."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, _, state = line.split()[1:4]
            if state == "0A" and int(local.split(":")[1], 16) == port:
                found.append(local.split(":")[0])
    return found


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def take(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def greet(connection, key, purpose, process, processes):
    """Greets as a process does. Returns the verdict, and the key of the connection."""
    hello = b"mw-greet" + struct.pack("<4I", 1, purpose, process, processes) + os.urandom(32)
    connection.sendall(hello)
    answer = take(connection, 4 + 56)
    verdict = struct.unpack("<I", answer[:4])[0]
    if verdict != 0:
        return verdict, None
    hellos = hello + answer[4:]
    proof = mac(key, b"meshwright connector\n", hellos)
    connection.sendall(proof)
    answer = take(connection, 4 + 32)
    verdict = struct.unpack("<I", answer[:4])[0]
    if verdict == 0 and answer[4:] != mac(key, b"meshwright listener\n", hellos, proof):
        sys.exit("the listener does not prove that it knows the token")
    return verdict, mac(key, b"meshwright session\n", hellos)


class Member:
    """Process 1 of 2, with the token."""

    def __init__(self, port):
        key = mac(b"meshwright token", TOKEN.encode())
        self.lifeline = connect(port)
        verdict, self.session = greet(self.lifeline, key, 1, 1, 2)
        if verdict != 0:
            sys.exit(f"a process with the token is refused: {verdict}")
        self.sent = self.taken = 0
        host = (pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/net")).encode()
        self.share(host + b"\n0\n" + bytes(32))
        texts = self.share(host + b"\n9\n" + os.urandom(32) + b"127.0.0.1\n")
        book = b"".join(f"{i} {len(text)}\n".encode() + text for i, text in enumerate(texts))
        _, port_of_first, rest = texts[0].split(b"\n", 2)
        if rest[32:] != b"127.0.0.1\n" or get_listeners(int(port_of_first)) != ["0100007F"]:
            sys.exit(f"data connections are listened for at {rest[32:]}")
        self.data = connect(int(port_of_first))
        verdict, _ = greet(self.data, mac(key, b"meshwright run\n", book), 2, 1, 2)
        if verdict != 0:
            sys.exit(f"a process of the run is refused: {verdict}")

    def share(self, text):
        number = struct.pack("<Q", self.sent)
        self.sent += 1
        self.lifeline.sendall(struct.pack("<Q", len(text)) + text + mac(self.session, b"meshwright text of the connector\n", number, text))
        texts = []
        for _ in range(2):
            size = struct.unpack("<Q", take(self.lifeline, 8))[0]
            text, proof = take(self.lifeline, size), take(self.lifeline, 32)
            if proof != mac(self.session, b"meshwright text of the listener\n", struct.pack("<Q", self.taken), text):
                sys.exit("a text is not signed")
            self.taken += 1
            texts.append(text)
        return texts

    def say(self, kind, data, size=None):
        self.lifeline.sendall(struct.pack("<II", kind, len(data) if size is None else size) + data)


# A secret is wanted, and not one that can be guessed.
finish(start(0, 1, token=None), 2, r"--nnodes=2 wants a secret that all hosts have, .*--token-file=FILE or in MESHWRIGHT_TOKEN; `openssl rand -hex 32` makes one")
finish(start(0, 1, token="short"), 2, r"the token of .*short has 5 bytes where 16 are the fewest")
finish(start(0, 1, token="none"), 1, r"cannot open .*none: No such file or directory")

# Two hosts with one token. Twenty connections that say nothing, and one that talks nonsense, delay them by nothing.
port = find_port()
first = start(0, port, f"--save={folder}/hosts.save")
silent = [connect(port) for _ in range(20)]
silent[7].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: everything\r\n\r\n")
if get_listeners(port) != ["0100007F"]:
    sys.exit(f"the rendezvous is listened for at {get_listeners(port)}")
for process, key, verdict in ((2, b"meshwright token", 5), (0, b"", 4), (4, b"", 4)):
    stranger = connect(port)
    said = greet(stranger, mac(key, b""), 1, process, 4)[0]
    if said != verdict or stranger.recv(1) != b"":
        sys.exit(f"a stranger who says that it is process {process} is not refused: {said}")
stranger = connect(port)
if greet(stranger, bytes(32), 1, 2, 5)[0] != 3:
    sys.exit("a stranger of another number of processes is not refused")
finish(start(1, port, token="other"), 2, r"process 0 has another token than this process; --token-file or MESHWRIGHT_TOKEN has to say the same on all hosts")
begin = time.monotonic()
second = start(1, port, f"--save={folder}/hosts.save")
finish(first, 0, "^$")
finish(second, 0, "^$")
if time.monotonic() - begin > 8 * PATIENCE:
    sys.exit(f"silent connections delay a run by {time.monotonic() - begin:.1f} s")
finish(start(0, 0, f"--save={folder}/one.save", processes=4, token=None, rendezvous=False), 0, "^$")
if (folder / "hosts.save").read_bytes() != (folder / "one.save").read_bytes():
    sys.exit("two hosts do not do what one does")


# With the token, and with frames that no process sends.
def send_activity(member):
    member.say(1, struct.pack("<QiI", 5, 10**8, 1))


def send_failure(member):
    member.say(0, struct.pack("<iiII", 3, 1, 0, 0) + b"\x1b[31mred\n")


def send_code(member):
    member.say(0, struct.pack("<iiII", 77, 1, 0, 0))


def send_size(member):
    member.say(1, b"", size=2**32 - 1)


def announce(member):
    """More bytes than there can be, where the command line is wanted."""
    member.data.sendall(struct.pack("<QII", 8, 0, 0) + struct.pack("<Q", 2**62))
    time.sleep(0.3 * PATIENCE)
    member.lifeline.close()


nonsense = "process 1 says what no process says: "
for say, status, pattern in ((send_activity, 4, nonsense + "a frame says that it waits for process 100000000 of 2"),
                             (send_failure, 3, r"process 1: \\x1b\[31mred\\x0a"),
                             (send_code, 4, nonsense + "a frame says that the run ends with 77, which no run does"),
                             (send_size, 4, nonsense + "a frame of 4294967295 bytes is announced where 32768 are the most"),
                             (announce, 4, "rank 1 stopped")):
    port = find_port()
    first = start(0, port, processes=1)
    member = Member(port)
    say(member)
    if "\x1b" in finish(first, status, pattern):
        sys.exit("what a process says reaches the terminal as it is")
