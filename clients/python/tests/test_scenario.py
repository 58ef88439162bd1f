"""The outages of a real server that the clients in all languages are tested with."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time

import pytest

import stint

from .servers import PATIENT, Server
from .test_vectors import FOLDER

OUTAGES = json.loads((FOLDER / "outages.json").read_text())
CALLS: int = OUTAGES["calls"]
IN_OUTAGE = "FW 1000000 1d"


class Proxy:
    """A proxy that delivers what the server sends one byte at a time, or closes connections, when it is told to."""

    def __init__(self, server: Server) -> None:
        self.pause = 0.0
        self._refuses = False
        self._loses = False
        self._sockets: list[socket.socket] = []
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
            if self._refuses:
                client.close()
                continue
            server = socket.create_connection(self._target)
            self._sockets += [client, server]
            threading.Thread(target=self._copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, True), daemon=True).start()

    def _copy(self, source: socket.socket, to: socket.socket, slowly: bool) -> None:
        dead = False
        try:
            while data := source.recv(65536):
                dead = dead or self._loses
                if dead:
                    continue
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

    def refuse(self, refuses: bool) -> None:
        """Close all connections, and new ones as soon as they are accepted; or accept them again."""
        self._refuses = refuses
        for one in self._sockets if refuses else []:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def lose(self, loses: bool) -> None:
        """Lose all bytes of the connections that there are now, and of new ones until it is told otherwise."""
        self._loses = loses

    def slow(self, pause: float) -> None:
        """Wait so many seconds between two bytes of replies."""
        self.pause = pause

    def close(self) -> None:
        self._listener.close()


class Driver:
    """Calls one limiter again and again, in a thread or on an event loop, and takes the times."""

    def __init__(self, url: str, is_async: bool) -> None:
        self._loop: asyncio.AbstractEventLoop | None = asyncio.new_event_loop() if is_async else None
        self._async = stint.AsyncLimiter(url, stint.fail_open())
        self._sync = stint.Limiter(url, stint.fail_open())

    def call(self, key: str = "scenario", limit: str = "1000000/s") -> tuple[stint.Result, float]:
        if self._loop is not None:
            return self._loop.run_until_complete(self._one(key, limit))
        begun = time.perf_counter()
        result = self._sync.allow(key, limit)
        return result, time.perf_counter() - begun

    async def _one(self, key: str, limit: str) -> tuple[stint.Result, float]:
        begun = time.perf_counter()
        result = await self._async.allow(key, limit)
        taken = time.perf_counter() - begun
        await asyncio.sleep(0)  # probes work between calls
        return result, taken

    def until_answered(self) -> float:
        """Call until the server answers, and return the seconds that it took."""
        begun = time.monotonic()
        while self.call()[0].source is not stint.Source.SERVER:
            assert time.monotonic() - begun < PATIENT, f"the server has not answered within {PATIENT} s"
            self.sleep(0.005)
        return time.monotonic() - begun

    def is_open(self) -> bool:
        return (self._async if self._loop is not None else self._sync).is_open

    def sleep(self, seconds: float) -> None:
        if self._loop is not None:
            self._loop.run_until_complete(asyncio.sleep(seconds))
        else:
            time.sleep(seconds)

    def close(self) -> None:
        self._sync.close()
        if self._loop is not None:
            self._loop.run_until_complete(self._async.close())
            self._loop.close()


def calls_in_outage(driver: Driver, may_close: bool) -> tuple[list[float], int]:
    """Make calls, which the fallback decides. Once the breaker is open none asks, unless it may close.

    Return the seconds that each took, and the number of those that asked.
    """
    times, asked, was_open = [], 0, False
    for i in range(1 + CALLS):
        result, took = driver.call("in the outage", IN_OUTAGE)
        times.append(took)
        assert result.source is stint.Source.FALLBACK and result.allowed, (i, result)
        is_open = isinstance(result.cause, stint.CircuitOpenError)
        assert is_open or isinstance(result.cause, stint.UnavailableError), (i, result)
        assert i > 0 if is_open else may_close or not was_open, (i, result)
        was_open, asked = is_open, asked + (not is_open)
    assert asked < CALLS and (may_close or asked <= CALLS // 10), asked
    return times, asked


def taken_in_outage(server: Server) -> int:
    """Return the number of tokens that calls in an outage have taken."""
    with stint.Limiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        result = limiter.peek("in the outage", IN_OUTAGE)
        assert result.source is stint.Source.SERVER
        return result.limit - result.remaining - 1


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("outage", OUTAGES["outages"])
def test_outage(server: Server, outage: str, is_async: bool) -> None:
    proxy = Proxy(server)
    fail, back = {
        "killed": (server.kill, server.start),
        "stopped": (server.stop, server.resume),
        "slow": (lambda: proxy.slow(0.015), lambda: proxy.slow(0.0)),
        "lost": (lambda: proxy.lose(True), lambda: proxy.lose(False)),
        "refusing": (lambda: proxy.refuse(True), lambda: proxy.refuse(False)),
    }[outage]
    may_close = outage == "slow"  # it answers a probe in the end
    driver = Driver(proxy.url if outage in ("slow", "refusing", "lost") else server.url, is_async)
    try:
        driver.until_answered()
        fail()
        (first, *times), asked = calls_in_outage(driver, may_close)
        times.sort()
        driver.sleep(OUTAGES["lasts_ms"] / 1000)  # probes fail
        assert driver.is_open() or may_close
        back()
        recovery = driver.until_answered()
        figures = {"first": first, "next_p99": times[CALLS * 99 // 100 - 1], "back": recovery}
        shown = ", ".join(
            f"{name} {seconds * 1000:.3f} of {OUTAGES['to_reach_ms'][name]} ms" for name, seconds in figures.items()
        )
        print(f"\n{outage}, {'asyncio' if is_async else 'threads'}: {shown}")
        assert taken_in_outage(server) <= asked
    finally:
        driver.close()
        proxy.close()


def test_cluster_moves_to_the_next_address(server: Server, program: str) -> None:
    other = Server(program)
    try:
        with stint.Limiter([server.url, other.url], stint.fail_closed(), timeout=PATIENT) as limiter:
            assert limiter.allow("k", "10/day").source is stint.Source.SERVER
            server.kill()
            deadline = time.monotonic() + PATIENT
            while limiter.allow("k", "1000000/s").source is not stint.Source.SERVER:
                assert time.monotonic() < deadline
    finally:
        other.close()
