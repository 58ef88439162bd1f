"""Leases with a real server: threads, tasks, processes, and one that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

import stint

from .servers import PATIENT, Server, fork

NAME = "leases"


HELD_FOR = 5  # seconds: a process that is stopped for longer may lose what it holds


def drain(limiter: stint.Limiter, key: str, limit: stint.Limit) -> int:
    """Take all that the server grants to others."""
    return limiter.allow_at_most(key, limit, limit.tokens).granted


def test_threads_and_processes_grant_exactly_the_limit(shared_server: Server) -> None:
    key, limit = f"{NAME}:processes", stint.window(20_000, "30d")
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        leases = stint.Leases(limiter)
        begun = time.monotonic()
        first = [leases.allow(key, limit) for _ in range(1000)]
        assert any(result.source is stint.Source.LEASED for result in first)
        before = sum(result.granted for result in first)  # the children must not spend the tokens that are left
        reader, writer = os.pipe()
        children = []
        for _ in range(3):
            child = fork()
            if child == 0:
                os.write(writer, b"%d\n" % _spend_in_threads(leases, key, limit))
                os._exit(0)
            children.append(child)
        own = _spend_in_threads(leases, key, limit)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        os.close(writer)
        with os.fdopen(reader) as lines:
            granted = before + own + sum(int(line) for line in lines)
        all_of_them = granted + drain(limiter, key, limit)
        assert all_of_them <= limit.tokens
        assert all_of_them == limit.tokens or time.monotonic() - begun > HELD_FOR  # loans may have been lost by a stop


def _spend_in_threads(leases: stint.Leases, key: str, limit: stint.Limit) -> int:
    """Ask from four threads until a request is denied, and return the tokens granted."""
    results: list[stint.Result] = []

    def work() -> None:
        while result := leases.allow(key, limit):
            results.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    leases.close()
    assert not leases.held(key)
    return len(results)


def test_tasks_grant_exactly_the_limit(shared_server: Server) -> None:
    key, limit = f"{NAME}:tasks", stint.window(10_000, "30d")

    async def work(leases: stint.AsyncLeases) -> list[stint.Result]:
        return [result async for result in _until_denied(leases, key, limit)]

    begun = time.monotonic()

    async def main() -> tuple[int, int]:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            async with stint.AsyncLeases(limiter) as one, stint.AsyncLeases(limiter) as other:
                cancelled = asyncio.create_task(work(one))
                lists = asyncio.gather(*(work(leases) for leases in (one, other) for _ in range(10)))
                await asyncio.sleep(0)
                cancelled.cancel()
                results = [result for found in await lists for result in found]
            assert {result.source for result in results} == {stint.Source.LEASED, stint.Source.SERVER}
            return len(results), (await limiter.allow_at_most(key, limit, limit.tokens)).granted

    granted, left = asyncio.run(main())
    assert granted + left <= limit.tokens
    # One may have gone to the task that was cancelled, and loans may have been lost by a stop.
    assert granted + left >= limit.tokens - 1 or time.monotonic() - begun > HELD_FOR


async def _until_denied(leases: stint.AsyncLeases, key: str, limit: stint.Limit):  # type: ignore[no-untyped-def]
    while result := await leases.allow(key, limit):
        yield result


def test_tokens_of_a_killed_process_stay_set_aside(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stint.leases.TIDY_EVERY", 3600)  # nothing goes back before it is killed
    key, limit = f"{NAME}:killed", stint.window(10_000, "30d")
    reader, writer = os.pipe()
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        child = fork()
        if child == 0:
            leases, granted, begun = stint.Leases(limiter), 0, time.monotonic()
            while not (held := leases.held(key)):
                granted += leases.allow(key, limit).granted
            os.write(writer, b"%d %d %d" % (granted, held, time.monotonic() - begun > HELD_FOR))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        granted, held, stopped = map(int, os.read(reader, 100).split())
        assert held > 0
        left = drain(limiter, key, limit)
        assert left <= limit.tokens - granted - held
        assert left == limit.tokens - granted - held or stopped  # then it may have lost a loan before this one


def test_unused_tokens_go_back(shared_server: Server) -> None:
    key, limit = f"{NAME}:unused", stint.window(10_000, "30d")
    with (
        stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter,
        stint.Leases(limiter) as leases,
    ):
        granted = 0
        while not leases.held(key):
            granted += leases.allow(key, limit).granted
        until = time.monotonic() + PATIENT
        while leases.held(key) and time.monotonic() < until:
            time.sleep(0.01)
        until = time.monotonic() + PATIENT
        while limiter.peek(key, limit).remaining < limit.tokens - granted - 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert limiter.peek(key, limit).remaining == limit.tokens - granted - 1  # it answers as if it took one


def test_requests_that_cannot_be_leased_go_to_the_server(shared_server: Server) -> None:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        with stint.Leases(limiter, max_keys=1) as leases:
            leases.allow(f"{NAME}:one", "100/h")  # there is no room for more
            for key, limit in (("small", "TB 7 7/h"), ("sliding", "SW 100 1h"), ("more", "100/h")):
                for _ in range(5):
                    assert leases.allow(f"{NAME}:{key}", limit).source is stint.Source.SERVER
            assert not leases.allow(f"{NAME}:one", "100/h", 101)
            for n in (0, 1.5, True):
                with pytest.raises(stint.InvalidError):
                    leases.allow(f"{NAME}:one", "100/h", n)  # type: ignore[arg-type]
        for options in ({"ahead": 0.6}, {"ahead": 0.0}, {"max_keys": 0}):
            with pytest.raises(stint.InvalidError):
                stint.Leases(limiter, **options)


def test_the_policy_answers_when_the_server_is_gone(server: Server) -> None:
    key, limit = f"{NAME}:gone", stint.window(10_000, "30d")
    seen: list[stint.Decision] = []
    with (
        stint.Limiter(server.url, stint.fail_closed(), timeout=PATIENT, on_decision=seen.append) as limiter,
        stint.Leases(limiter) as leases,
    ):
        while not leases.held(key):
            leases.allow(key, limit)
        assert seen[-1].source is stint.Source.LEASED
        server.kill()
        while result := leases.allow(key, limit):
            assert result.source is stint.Source.LEASED
        assert result.source is stint.Source.FALLBACK
        assert isinstance(result.cause, stint.UnavailableError)


@pytest.mark.parametrize("leases", [stint.Leases, stint.AsyncLeases])
@pytest.mark.parametrize("reading", range(5))
def test_pause_between_readings_of_the_clocks(
    monkeypatch: pytest.MonkeyPatch, leases: type[stint.Leases | stint.AsyncLeases], reading: int
) -> None:
    """A process that is stopped before any reading counts the pause, so it never spends for longer than it may."""
    clock, readings = 0, 0

    def read() -> int:
        nonlocal clock, readings
        readings += 1
        clock += 118 * 10**9 if readings == reading else 1000
        return clock

    monkeypatch.setattr("time.monotonic_ns", read)
    monkeypatch.setattr("time.time_ns", read)
    sent = leases._now()
    sent_at = clock
    clock += 10**9
    since = leases._now().since(sent)
    assert clock - sent_at - 1000 <= since <= clock
    assert readings == 4
