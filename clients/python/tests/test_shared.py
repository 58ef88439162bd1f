"""Fair shares, trees of classes and adaptive limits, on a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import stint

from .servers import PATIENT, Server


def test_a_member_that_floods_leaves_room(shared_server: Server) -> None:
    pool = stint.per_day(1).burst(90)
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        flood = sum(limiter.allow("share:pool", pool.member("flood")).granted for _ in range(100))
        small = limiter.allow("share:pool", pool.member("small", 3), 2)
        assert (flood, small.granted) == (80, 2)  # eight ninths for one alone
        assert limiter.members("share:pool") == [stint.Member("flood", 1, 80), stint.Member("small", 3, 2)]
        several = limiter.all(stint.on("share:pool", pool.member("third", 2), cost=3), stint.on("share:user", "5/day"))
        assert several.allowed and several.limits[1].remaining == 4


def test_a_class_gets_its_assured_tokens(shared_server: Server) -> None:
    def tree(name: str) -> stint.Class:
        root = stint.on("tree:root", stint.per_day(6).burst(60))
        return stint.Class(f"tree:{name}", stint.per_day(1).burst(10), stint.per_day(2).burst(25), [root])

    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.peek_class(tree("pro")) and limiter.allow_class(tree("pro"))
        assert limiter.allow_class(tree("free"), 26).retry_after == stint.NEVER
        assert sum(limiter.allow_class(tree("free")).granted for _ in range(40)) == 25
        assert limiter.allow_class(tree("pro"), 9)


def test_an_adaptive_limit_follows_reports(shared_server: Server) -> None:
    limit = stint.per_hour(100).burst(50).adaptive(5)

    async def run() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            assert await limiter.report("adaptive", bad=1) is None
            assert (await limiter.allow("adaptive", limit, 10)).remaining == 40
            options = stint.ReportOptions(every=0.001, down=36)
            pace: Any = await limiter.report("adaptive", good=1, bad=1, options=options)
            while pace.per_second > 0.02:  # until a millisecond is over, which is decided on at once
                pace = await limiter.report("adaptive", good=1, bad=1, options=options)
            assert pace.per_second == pytest.approx(0.01, abs=1e-8)
            pace = await limiter.report("adaptive", bad=1, pause=3600)
            assert pace.pause > 3500
            assert (await limiter.allow("adaptive", limit)).retry_after > 3500
            with pytest.raises(stint.WouldExceedDeadlineError):
                await limiter.wait("adaptive", limit, max_wait=60)

    asyncio.run(run())


def test_wait_outlasts_a_pause(shared_server: Server) -> None:
    limit = stint.per_second(1000).adaptive(5)
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        limiter.wait("paused", limit)
        limiter.report("paused", bad=1, pause=0.05)
        assert limiter.wait("paused", limit)
        pace = limiter.report("paused")
        assert pace is not None and pace.pause == 0


def test_members_and_holders_share_what_is_left_to_a_process() -> None:
    limiter = stint.Limiter("redis://127.0.0.1:1", stint.local_share(0.5))
    pool = stint.per_day(1).burst(10)
    assert sum(limiter.allow("pool", pool.member(f"m{i}", i + 1)).granted for i in range(20)) == 5
    assert sum(limiter.allow("jobs", stint.concurrency(10, "1d", f"job-{i}")).granted for i in range(20)) == 5
