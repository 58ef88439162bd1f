"""Limiters that ask a server in memory."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from ..aio import AsyncLimiter
from ..asks import Key
from ..errors import ServerError, UnavailableError, from_reply
from ..limiter import Limiter
from ..limits import Limit
from ..policy import Policy, fail_open
from ..results import Result
from ..wire import Decoder
from .server import FakeServer


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float | None = None) -> None:
        self._now = Fraction(time.time() if now is None else now)

    def now(self) -> Fraction:
        """Return the time, in seconds since the Unix epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass. A float is taken as it is printed, so ten times 0.1 are one second."""
        self._now += Fraction(repr(seconds))


class _Fake:
    """What both limiters have instead of connections."""

    def _begin(self, clock: Clock | None) -> None:
        self.clock = clock or Clock()
        self.server = FakeServer(self.clock.now)
        self.is_down = False
        self._begun = self.clock.now()

    def _now(self) -> float:
        return float(self.clock.now() - self._begun)

    def _execute(self, packed: bytes) -> Any:
        if self.is_down:
            raise UnavailableError("the test set is_down")
        decoder = Decoder()
        decoder.feed(packed)  # a command is an array of words, as a reply is
        _, words = decoder.next()
        reply = self.server.execute([word.decode("utf-8", "surrogateescape") for word in words])
        if isinstance(reply, ServerError):
            raise from_reply(reply)
        return reply


class FakeLimiter(_Fake, Limiter):
    """A Limiter for tests. clock is its time, is_down lets the fallback decide, server.set_policy stores a policy."""

    def __init__(self, when_down: Policy | None = None, clock: Clock | None = None) -> None:
        Limiter.__init__(self, "redis://fake", when_down or fail_open())
        self._begin(clock)

    def _ask(self, ask: Any) -> Any:
        return self._execute(ask.packed)

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _wait_for_place(self, key: Key, limit: Limit, until: float, priority: int | None) -> Result:
        """Return the denial: the clock is then set ahead to the end of the first place."""
        return self.allow(key, limit)


class FakeAsyncLimiter(_Fake, AsyncLimiter):
    """An AsyncLimiter for tests."""

    def __init__(self, when_down: Policy | None = None, clock: Clock | None = None) -> None:
        AsyncLimiter.__init__(self, "redis://fake", when_down or fail_open())
        self._begin(clock)

    async def _ask(self, ask: Any) -> Any:
        return self._execute(ask.packed)

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def _wait_for_place(self, key: Key, limit: Limit, until: float, priority: int | None) -> Result:
        """Return the denial: the clock is then set ahead to the end of the first place."""
        return await self.allow(key, limit)
