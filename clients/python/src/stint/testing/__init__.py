"""Limiters for tests of applications, which decide in memory by a clock that the test sets, and a real server.

limiter = FakeLimiter()
assert limiter.allow("user:7", "1/minute")
assert not limiter.allow("user:7", "1/minute")
limiter.clock.advance(60)
assert limiter.allow("user:7", "1/minute")
limiter.is_down = True  # the fallback decides

The fake makes the server's decisions on token buckets, fixed windows with no option but rollover, sliding windows in
segments, concurrency limits, balances whose credits do not expire, several of them at once and policies. To everything
else it answers with an error: such a test runs on a StintServer.

with StintServer() as server, stint.Limiter(server.url, stint.fail_closed()) as limiter:
    assert limiter.allow("calls", stint.per_second(100).burst(50).adaptive(5))
"""

from .limiters import Clock, FakeAsyncLimiter, FakeLimiter
from .process import StintServer

__all__ = ["Clock", "FakeAsyncLimiter", "FakeLimiter", "StintServer"]
