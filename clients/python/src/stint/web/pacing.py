"""Outgoing requests within the limit of another service, without a framework."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from ..aio import AsyncLimiter
from ..asks import as_limit
from ..errors import DeniedError, StintError, UndecidedError, WouldExceedDeadlineError
from ..limiter import Limiter
from ..limits import Limit
from ..reports import DEFAULT_REPORT, ReportOptions
from ..results import NEVER, Source
from ..waiting import Reservation, seconds_of
from .provider import Field, read_limits, read_pause

REPORT_EVERY = 1.0  # seconds: answers are summed up for this time
MAX_AHEAD = 0.25  # seconds of an adaptive reservation, which a pause of another process does not stop
SAME_PAUSE = 1.0  # seconds: a pause that ends within this time after the reported one is not reported
MAX_KEYS = 10_000

log = logging.getLogger("stint")


@dataclass(frozen=True)
class Reserve:
    """A step: ask Stint for a turn within these seconds."""

    max_wait: float


@dataclass(frozen=True)
class Sleep:
    """A step: wait for these seconds."""

    seconds: float


Steps = Generator[Reserve | Sleep, Reservation | None, None]


@dataclass(frozen=True)
class News:
    """Answers to be reported to an adaptive limit."""

    good: int
    bad: int
    pause: float


@dataclass(frozen=True)
class Left:
    """What the service has left, which is less than the limit has."""

    requests: int


@dataclass
class _Gate:
    """The news from the answers for one key."""

    closed_until: float = 0.0
    left: int = 0  # tokens of the limit, as Stint said at the last turn
    good: int = 0
    bad: int = 0
    reported: float = -REPORT_EVERY
    paused_until: float = 0.0  # as reported


@dataclass
class Pacer:
    """Decides when requests may be sent, and sums up reports.

    limit is a queue, a token bucket, or an adaptive limit, which follows the answers of the service for all processes.
    max_wait bounds the wait of a request, max_pause the pause that an answer can ask for, both in seconds.
    """

    limit: Limit | str
    max_wait: float = 60.0
    max_pause: float = 86400.0
    options: ReportOptions = DEFAULT_REPORT
    clock: Callable[[], float] = time.monotonic
    _gates: dict[str, _Gate] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read the limit, and refuse waits that are no numbers."""
        seconds_of(self.max_wait)
        seconds_of(self.max_pause, "max_pause")
        self.chosen = as_limit(self.limit)
        self.adapts = self.chosen.algorithm.form == "adaptive"

    def _told(self, key: str, reservation: Reservation) -> None:
        with self._lock:
            self._gate(key).left = reservation.result.remaining

    def turn(self, key: str) -> Steps:
        """Take the steps until a request may be sent: each Reserve is answered by its reservation."""
        until = self.clock() + self.max_wait
        has_turn = False
        while True:
            with self._lock:
                pause = self._gate(key).closed_until - self.clock()
            if pause <= 0:
                if has_turn:
                    return
                left = max(0.0, until - self.clock())
                reservation = yield Reserve(min(left, MAX_AHEAD) if self.adapts else left)
                assert reservation is not None
                self._told(key, reservation)
                pause, has_turn = self._after(reservation), reservation.allowed
            if self.clock() + pause > until:
                raise WouldExceedDeadlineError(f"{key}: it would take {pause:.3f} s, max_wait is {self.max_wait} s")
            yield Sleep(pause)

    def _after(self, reservation: Reservation) -> float:
        """Return the pause after an answer of Stint, or raise an error if waiting does not help."""
        result = reservation.result
        if result.allowed:
            return reservation.delay
        if result.source is Source.FALLBACK:
            raise DeniedError(f"denied: {result.cause}") from result.cause
        if result.retry_after == NEVER or (result.source is Source.SERVER and not self.adapts):
            raise WouldExceedDeadlineError(f"no turn within {self.max_wait} s")
        return result.retry_after

    def hear(self, key: str, status: int, field: Field) -> News | Left | None:
        """Take an answer: its status, or 504 for a timeout, and its fields. Return what is to be told to Stint now."""
        said = read_limits(field)
        pause, now = min(read_pause(status, field, said), self.max_pause), self.clock()
        with self._lock:
            gate = self._gate(key)
            gate.closed_until = max(gate.closed_until, now + pause)
            if not self.adapts:
                requests = min((one.remaining for one in said if one.unit == "requests"), default=gate.left)
                if requests >= gate.left or not self.chosen.algorithm.keeps:
                    return None
                gate.left = requests
                return Left(requests)
            gate.bad += status in (429, 503, 504)
            gate.good += status < 500 and status != 429
            is_new = pause > 0 and now + pause > gate.paused_until + SAME_PAUSE
            if not is_new and (now - gate.reported < REPORT_EVERY or gate.good + gate.bad == 0):
                return None
            if is_new:
                gate.paused_until = now + pause
            news = News(gate.good, gate.bad, pause if is_new else 0.0)
            gate.good, gate.bad, gate.reported = 0, 0, now
            return news

    def _gate(self, key: str) -> _Gate:
        gate = self._gates.get(key)
        if gate is None:
            gate = _Gate()
            if len(self._gates) >= MAX_KEYS:
                now = self.clock()
                self._gates = {k: g for k, g in self._gates.items() if g.closed_until > now}
            if len(self._gates) < MAX_KEYS:
                self._gates[key] = gate
        return gate


def await_turn(limiter: Limiter, pacer: Pacer, key: str) -> None:
    """Wait until a request may be sent."""
    steps, answer = pacer.turn(key), None
    while (step := _next(steps, answer)) is not None:
        if isinstance(step, Reserve):
            answer = limiter.reserve(key, pacer.chosen, max_wait=step.max_wait)
            continue
        try:
            limiter._sleep(step.seconds)
        except BaseException:
            if answer is not None:
                limiter.cancel_reservation(answer)
            raise


async def await_turn_async(limiter: AsyncLimiter, pacer: Pacer, key: str) -> None:
    """Wait until a request may be sent."""
    steps, answer = pacer.turn(key), None
    while (step := _next(steps, answer)) is not None:
        if isinstance(step, Reserve):
            answer = await limiter.reserve(key, pacer.chosen, max_wait=step.max_wait)
            continue
        try:
            await limiter._sleep(step.seconds)
        except BaseException:
            if answer is not None:
                await limiter.cancel_reservation(answer)
            raise


def _next(steps: Steps, answer: Reservation | None) -> Reserve | Sleep | None:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def heed(limiter: Limiter, pacer: Pacer, key: str, status: int, field: Field = lambda name: None) -> None:
    """Take an answer, and tell Stint what it says. If that fails, little is lost: the next answers tell the same."""
    news = pacer.hear(key, status, field)
    try:
        if isinstance(news, News):
            limiter.report(key, news.good, news.bad, pause=news.pause, options=pacer.options)
        elif news is not None:
            limiter.at_most(key, pacer.chosen, news.requests)
    except StintError as error:
        _lost(key, error)


async def heed_async(
    limiter: AsyncLimiter, pacer: Pacer, key: str, status: int, field: Field = lambda name: None
) -> None:
    """Do what heed does."""
    news = pacer.hear(key, status, field)
    try:
        if isinstance(news, News):
            await limiter.report(key, news.good, news.bad, pause=news.pause, options=pacer.options)
        elif news is not None:
            await limiter.at_most(key, pacer.chosen, news.requests)
    except StintError as error:
        _lost(key, error)


def _lost(key: str, error: StintError) -> None:
    if not isinstance(error, UndecidedError):
        log.error("the answers of %s are not reported: %s", key, error)


def host_key(host: str) -> str:
    """Return the key of requests to a host."""
    return f"http:{host}"
