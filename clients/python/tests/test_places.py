"""Waiting for a place in a concurrency limit."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
import redis

import stint

from .servers import PATIENT, Server

NAME = "places"


def place(holder: str) -> stint.Limit:
    return stint.concurrency(1, "1h", holder)


def callers_in_line(server: Server) -> int:
    with redis.Redis(port=server.port) as admin:
        count = admin.info("clients")["blocked_clients"]
    assert isinstance(count, int)
    return count


async def in_line(server: Server, callers: int) -> None:
    """Wait until so many callers wait for a place."""
    while callers_in_line(server) != callers:
        await asyncio.sleep(0.005)


def test_a_release_wakes_the_most_urgent(shared_server: Server) -> None:
    """The calls of other tasks do not wait meanwhile."""

    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            key, order = f"{NAME}:urgent", []

            async def work(holder: str, priority: int | None) -> None:
                assert await limiter.wait(key, place(holder), max_wait=PATIENT, priority=priority)
                order.append(holder)
                await limiter.release(key, holder)

            await limiter.wait(key, place("first"))
            tasks = [asyncio.create_task(work(f"job-{n}", n)) for n in (1, None, 9)]
            await in_line(shared_server, 3)
            assert await asyncio.wait_for(limiter.allow("others", "100/s"), PATIENT) and order == []
            await limiter.release(key, "first")
            await asyncio.gather(*tasks)
            assert order == ["job-9", "job-None", "job-1"]

    asyncio.run(main())


def test_a_wait_for_a_place_ends(shared_server: Server) -> None:
    """At max_wait, and when its task is cancelled, which gives back a place that is granted at that moment."""

    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            key = f"{NAME}:ends"
            await limiter.wait(key, place("first"))
            begun = time.monotonic()
            with pytest.raises(stint.WouldExceedDeadlineError):
                await limiter.wait(key, place("second"), max_wait=0.2)
            assert time.monotonic() - begun >= 0.19
            waiting = asyncio.create_task(limiter.wait(key, place("third")))
            await in_line(shared_server, 1)
            waiting.cancel()
            await limiter.release(key, "first")
            await asyncio.gather(waiting, return_exceptions=True)
            assert waiting.cancelled() and await limiter.wait(key, place("fourth"), max_wait=PATIENT)
            for limit, priority in ((place("x"), 10), (place("x"), 1.5), ("1/s", 1)):
                with pytest.raises(stint.InvalidError, match="priority: must be"):
                    await limiter.wait(key, limit, priority=priority)  # type: ignore[arg-type]

    asyncio.run(main())


def test_threads_wait_for_a_place(shared_server: Server) -> None:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        key, got = f"{NAME}:threads", threading.Event()

        def work() -> None:
            if limiter.wait(key, place("second"), max_wait=PATIENT):
                got.set()

        limiter.wait(key, place("first"))
        thread = threading.Thread(target=work)
        thread.start()
        while callers_in_line(shared_server) != 1:
            time.sleep(0.005)
        assert limiter.allow("others", "100/s") and not got.is_set()
        limiter.release(key, "first")
        thread.join(PATIENT)
        assert got.is_set()


def test_a_wait_goes_on_after_the_server_was_gone(server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT, failures=10**6) as limiter:
            await limiter.wait("k", place("first"))
            waiting = asyncio.create_task(limiter.wait("k", place("second"), max_wait=PATIENT))
            await in_line(server, 1)
            server.kill()
            await asyncio.sleep(0.2)
            server.start()
            assert await waiting  # the server is in memory: the first holder is forgotten

    asyncio.run(main())
