"""Limiters that ask a server in memory."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from ..aio import AsyncLimiter
from ..asks import Key, as_limit
from ..errors import ServerError, UnavailableError, from_reply
from ..limiter import Limiter
from ..limits import Limit
from ..policy import Policy, fail_open
from ..results import Result
from ..waiting import LONGEST_WAIT, give_up, seconds_of
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

    def wait(
        self,
        key: Key,
        limit: Limit | str,
        n: int = 1,
        *,
        max_wait: float = LONGEST_WAIT,
        priority: int | None = None,
    ) -> Result:
        """Set the clock ahead instead of sleeping."""
        chosen, max_wait = as_limit(limit), seconds_of(max_wait)
        while True:
            if chosen.algorithm.reserves:
                result = self.reserve(key, chosen, n, max_wait=max_wait).result
            else:
                result = self.allow(key, chosen, n)
            pause = result.wait if result else give_up(chosen, result, n, max_wait, self._settings.when_down)
            self.clock.advance(pause)
            if result:
                return result
            max_wait -= pause


class FakeAsyncLimiter(_Fake, AsyncLimiter):
    """An AsyncLimiter for tests."""

    def __init__(self, when_down: Policy | None = None, clock: Clock | None = None) -> None:
        AsyncLimiter.__init__(self, "redis://fake", when_down or fail_open())
        self._begin(clock)

    async def _ask(self, ask: Any) -> Any:
        return self._execute(ask.packed)

    async def wait(
        self,
        key: Key,
        limit: Limit | str,
        n: int = 1,
        *,
        max_wait: float = LONGEST_WAIT,
        priority: int | None = None,
    ) -> Result:
        """Set the clock ahead instead of sleeping."""
        chosen, max_wait = as_limit(limit), seconds_of(max_wait)
        while True:
            if chosen.algorithm.reserves:
                result = (await self.reserve(key, chosen, n, max_wait=max_wait)).result
            else:
                result = await self.allow(key, chosen, n)
            pause = result.wait if result else give_up(chosen, result, n, max_wait, self._settings.when_down)
            self.clock.advance(pause)
            if result:
                return result
            max_wait -= pause
