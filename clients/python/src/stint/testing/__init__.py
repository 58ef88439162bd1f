"""Limiters for tests of applications: the same decisions as the server's, in memory, by a clock that the test sets.

limiter = FakeLimiter()
assert limiter.allow("user:7", "1/minute")
assert not limiter.allow("user:7", "1/minute")
limiter.clock.advance(60)
assert limiter.allow("user:7", "1/minute")
limiter.is_down = True  # the policy answers
"""

from .limiters import Clock, FakeAsyncLimiter, FakeLimiter

__all__ = ["Clock", "FakeAsyncLimiter", "FakeLimiter"]
