"""A real server that is killed, stopped, slow, and back again. The bounds are generous; the figures are printed."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable

import pytest

import stint

from .servers import Server

CALLS = 1000
LIMIT = "1000000/s"
MARGIN = 0.25  # seconds, for a busy machine; the figures to reach are 0.01 for the first call and 0.001 for the others
BACK = 5.0  # seconds; the figure to reach is 0.5


class Slow:
    """A proxy that delivers what the server sends one byte at a time, when it is told to."""

    def __init__(self, server: Server) -> None:
        self.pause = 0.0
        self._target = ("127.0.0.1", server.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            threading.Thread(target=self._copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, True), daemon=True).start()

    def _copy(self, source: socket.socket, to: socket.socket, slowly: bool) -> None:
        try:
            while data := source.recv(65536):
                if not slowly or not self.pause:
                    to.sendall(data)
                    continue
                for i in range(len(data)):
                    to.sendall(data[i : i + 1])
                    time.sleep(self.pause)
        except OSError:
            pass
        source.close()
        to.close()

    def close(self) -> None:
        self._listener.close()


class Driver:
    """Calls one limiter again and again, in a thread or on an event loop, and takes the times."""

    def __init__(self, url: str, is_async: bool) -> None:
        self._loop: asyncio.AbstractEventLoop | None = asyncio.new_event_loop() if is_async else None
        self._async = stint.AsyncLimiter(url, stint.fail_open())
        self._sync = stint.Limiter(url, stint.fail_open())

    def call(self) -> tuple[stint.Result, float]:
        if self._loop is not None:
            return self._loop.run_until_complete(self._one())
        begun = time.perf_counter()
        result = self._sync.allow("scenario", LIMIT)
        return result, time.perf_counter() - begun

    async def _one(self) -> tuple[stint.Result, float]:
        begun = time.perf_counter()
        result = await self._async.allow("scenario", LIMIT)
        taken = time.perf_counter() - begun
        await asyncio.sleep(0)  # probes work between calls
        return result, taken

    def until(self, source: stint.Source, within: float) -> float:
        begun = time.monotonic()
        while self.call()[0].source is not source:
            assert time.monotonic() - begun < within, f"no answer with source {source} within {within} s"
            if self._loop is not None:
                self._loop.run_until_complete(asyncio.sleep(0.005))
            else:
                time.sleep(0.005)
        return time.monotonic() - begun

    def close(self) -> None:
        self._sync.close()
        if self._loop is not None:
            self._loop.run_until_complete(self._async.close())
            self._loop.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("outage", ["killed", "stopped", "slow"])
def test_outage(server: Server, outage: str, is_async: bool) -> None:
    proxy = Slow(server)
    fail: Callable[[], None] = {"killed": server.kill, "stopped": server.stop, "slow": lambda: _set(proxy, 0.015)}[
        outage
    ]
    back: Callable[[], None] = {"killed": server.start, "stopped": server.resume, "slow": lambda: _set(proxy, 0.0)}[
        outage
    ]
    driver = Driver(proxy.url if outage == "slow" else server.url, is_async)
    try:
        driver.until(stint.Source.SERVER, 30)
        fail()
        first, first_took = driver.call()
        times = []
        for _ in range(CALLS):
            result, took = driver.call()
            times.append(took)
        assert first.source is stint.Source.FALLBACK and first.allowed, first
        assert result.source is stint.Source.FALLBACK and result.allowed, result
        assert isinstance(result.cause, stint.CircuitOpenError)
        times.sort()
        p99 = times[CALLS * 99 // 100 - 1]
        back()
        recovery = driver.until(stint.Source.SERVER, 30)
        print(
            f"\n{outage}, {'asyncio' if is_async else 'threads'}: first {first_took * 1000:.2f} ms, then p99 "
            f"{p99 * 1000:.3f} ms, most {times[-1] * 1000:.2f} ms, back after {recovery * 1000:.0f} ms"
        )
        assert first_took < 0.02 + MARGIN
        assert p99 < MARGIN
        assert recovery < BACK
    finally:
        driver.close()
        proxy.close()


def _set(proxy: Slow, pause: float) -> None:
    proxy.pause = pause


def test_cluster_moves_to_the_next_address(server: Server, program: str) -> None:
    other = Server(program)
    try:
        with stint.Limiter([server.url, other.url], stint.fail_closed(), timeout=1.0) as limiter:
            assert limiter.allow("k", "10/day").source is stint.Source.SERVER
            server.kill()
            deadline = time.monotonic() + 30
            while limiter.allow("k", "1000000/s").source is not stint.Source.SERVER:
                assert time.monotonic() < deadline
    finally:
        other.kill()
