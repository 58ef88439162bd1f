"""A real server, and one whose replies a test chooses."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO

PATIENT = 60.0  # seconds: bounds waits, also on a machine that is busy
GRANTED = b"*4\r\n:1\r\n:-1\r\n:0\r\n*0"  # the reply to RL.ALL and RL.CHECK, without limits
ENDS_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


def fork() -> int:
    """Fork this process. The child ends after ten minutes at the latest."""
    child = os.fork()
    if child == 0:
        signal.alarm(600)
    return child


def reserve() -> socket.socket:
    """Return a socket that is bound and does not listen: nobody else is given its port, and servers may bind to it."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


class Server:
    """A process of stint, which can be started again at its address."""

    def __init__(self, program: str, *flags: str) -> None:
        self._program = program
        self._flags = flags
        self._reserved = reserve()
        self.port: int = self._reserved.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start the process, and wait until it takes connections."""
        arguments = [*ENDS_WITH_PARENT, self._program, "--listen", f"127.0.0.1:{self.port}", "--admin", ""]
        arguments += self._flags
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.kill()
                    raise
                time.sleep(0.01)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENT)

    def close(self) -> None:
        """Kill the process, and give up its port."""
        self.kill()
        self._reserved.close()

    def stop(self) -> None:
        """Send SIGSTOP, and wait until it has taken effect."""
        self._process.send_signal(signal.SIGSTOP)
        while True:
            with open(f"/proc/{self._process.pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "T":
                    return
            time.sleep(0.001)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)


def read_command(reader: BinaryIO) -> list[bytes]:
    """Return the words of the next command, none at the end of the connection."""
    line = reader.readline()
    words = []
    for _ in range(int(line[1:]) if line else 0):
        size = int(reader.readline()[1:])
        words.append(reader.read(size))
        reader.read(2)
    return words


class Scripted:
    """A server that answers every command by reply; an empty reply closes the connection.

    CLIENT and PING are answered OK, and CLUSTER by slots.
    """

    def __init__(self) -> None:
        self.reply: Callable[[list[bytes]], bytes] = lambda words: b"+OK"
        self.slots = b"-ERR This instance has cluster support disabled"
        self.commands: list[list[bytes]] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            while words := read_command(reader):
                answer = b"+OK"
                if words[0] == b"CLUSTER":
                    answer = self.slots
                elif words[0].upper() not in (b"CLIENT", b"PING"):
                    self.commands.append(words)
                    answer = self.reply(words)
                if not answer:
                    return
                try:
                    connection.sendall(answer + b"\r\n")
                except OSError:
                    return

    def close(self) -> None:
        self._listener.close()


async def cancel_before_reply(
    scripted: Scripted, call: Awaitable[Any], granted: bytes, others: Mapping[bytes, bytes]
) -> None:
    """Cancel a call while the server has its command, which it then grants. Commands in others are answered at once."""
    asked, go_on = threading.Event(), threading.Event()

    def reply(words: list[bytes]) -> bytes:
        if words[0] in others:
            return others[words[0]]
        asked.set()
        go_on.wait(PATIENT)
        return granted

    scripted.reply = reply
    task = asyncio.ensure_future(call)
    assert await asyncio.to_thread(asked.wait, PATIENT)
    task.cancel()
    await asyncio.sleep(0)  # the task has the cancellation before the reply
    go_on.set()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


class Service:
    """Another service, which answers as a test says."""

    def __init__(self) -> None:
        self.came = 0
        self.status, self.retry_after = 200, ""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.came += 1
                self.send_response(service.status)
                if service.retry_after:
                    self.send_header("Retry-After", service.retry_after)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
