"""A real server for a test."""

from __future__ import annotations

import atexit
import os
import queue
import re
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType

from ..errors import StintError

_START_TIMEOUT = 60.0  # seconds
_STOP_TIMEOUT = 10.0
_READY = re.compile(r"^ready: accepting connections on [^,\n]*:(\d+)[,\n]")


class StintServer:
    """A process of stint on a loopback port of its choice, with its data in memory.

    It ends with the block or with close, and with this process. The program is the argument binary, or named by the
    environment variable STINTTEST_BINARY, or stint in PATH. flags are those of stint server.
    """

    def __init__(self, flags: Sequence[str] = (), binary: str | None = None) -> None:
        program = binary or os.environ.get("STINTTEST_BINARY", "stint")
        command = [program, "server", "--listen", "127.0.0.1:0", "--admin", "", *flags]
        try:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except OSError as error:
            raise StintError(
                f"there is no server to start: {error}; set STINTTEST_BINARY to its path, or put stint into PATH"
            ) from error
        atexit.register(self._process.kill)
        ports = queue.Queue[int]()
        self._output = ""
        self._reader = threading.Thread(target=self._read, args=(ports,), daemon=True)
        self._reader.start()
        try:
            self.port = ports.get(timeout=_START_TIMEOUT)
        except queue.Empty:
            self.port = -1
        if self.port < 0:
            why = "ended" if self._process.poll() is not None else f"took no connections within {_START_TIMEOUT:.0f} s"
            self._process.kill()
            self._forget()
            raise StintError(f"{program} {why}:\n{self._output}")
        self.url = f"redis://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._forget()

    def __enter__(self) -> StintServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, ports: queue.Queue[int]) -> None:
        """Read the output to its end, so that the server can always write."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._output = (self._output + line)[-10_000:]
            if ready := _READY.match(line):
                ports.put(int(ready[1]))
        self._process.wait()
        ports.put(-1)

    def _forget(self) -> None:
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        atexit.unregister(self._process.kill)
