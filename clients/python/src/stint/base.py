"""The settings and the decisions that Limiter and AsyncLimiter have in common."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from . import asks
from .asks import Ask, Key, Keyed, Request, as_limit
from .checks import is_number
from .errors import ClosedError, InvalidError, StintError, UnauthenticatedError, UnavailableError, UndecidedError
from .limits import Limit
from .policy import Judge, Policy, must_be_policy
from .results import MultiResult, Result, Source, parse_multi, parse_result
from .slices import Estimates

DEFAULT_TIMEOUT = 0.02  # seconds
DEFAULT_FAILURES = 5
DEFAULT_COOL_DOWN = 0.25  # seconds

log = logging.getLogger("stint")
_LOG_EVERY = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Decision:
    """One request, as the hook on_decision sees it. error was raised by the call, or is the cause in its result."""

    operation: str
    key: bytes  # as sent; of all() those of all limits with a space between, of check() the policy's name
    tokens: int
    allowed: bool
    source: Source
    error: StintError | None
    seconds: float


@dataclass
class Settings:
    """The settings of a limiter."""

    when_down: Policy
    timeout: float = DEFAULT_TIMEOUT
    assume: Mapping[str, Sequence[Limit | str]] = field(default_factory=dict)
    on_decision: Callable[[Decision], None] | None = None

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        must_be_policy(self.when_down)
        if not is_number(self.timeout) or not self.timeout > 0:
            raise InvalidError(f"timeout must be a number of seconds above 0, such as 0.02, got {self.timeout!r}")
        if self.on_decision is not None and not callable(self.on_decision):
            raise InvalidError(f"on_decision: must be a function, got {self.on_decision!r}")
        if not isinstance(self.assume, Mapping) or any(
            isinstance(limits, str) or not isinstance(limits, Iterable) for limits in self.assume.values()
        ):
            raise InvalidError(
                f'assume: must be lists of limits by policies, as {{"api": ["5/s"]}}, got {self.assume!r}'
            )
        self.assumed = {name: [as_limit(limit) for limit in limits] for name, limits in self.assume.items()}


Self = TypeVar("Self", bound="Base")


_warned = threading.Event()


def _warn_once(cause: StintError) -> None:
    """Log the first request of this process that Stint did not decide. Results have the source of each."""
    if not _warned.is_set():
        _warned.set()
        log.warning(
            "Stint did not decide a request, so the fallback did: %s. Later ones are not logged one by one", cause
        )


class Base:
    """Turns replies and failures into results. It does no input or output."""

    def __init__(self, settings: Settings) -> None:
        self._configure(settings)
        self._estimates = Estimates()

    def _configure(self, settings: Settings) -> None:
        self._settings = settings
        self._timeout = settings.timeout
        self._judge = Judge(settings.when_down)
        self._logged = -_LOG_EVERY

    def with_options(
        self: Self,
        *,
        when_down: Policy | None = None,
        timeout: float | None = None,
        on_decision: Callable[[Decision], None] | None = None,
    ) -> Self:
        """Return a limiter on the same connections and breaker with another policy, timeout or hook."""
        old = self._settings
        other = copy.copy(self)
        other._configure(
            Settings(
                old.when_down if when_down is None else when_down,
                old.timeout if timeout is None else timeout,
                old.assume,
                old.on_decision if on_decision is None else on_decision,
            )
        )
        return other

    def _one(self, ask: Ask, begun: float, reply: Any, error: StintError | None) -> Result:
        """Return the result of an acquire, or raise an error about the request."""
        result: Result | None = None
        _, limit, n = ask.limits[0]
        if error is None:
            try:
                result = parse_result(reply, limit, n)
            except StintError as unknown:
                error = unknown
        if result is None:
            assert error is not None
            result = self._judge.one(time.monotonic(), error, ask.limits, n, ask.option)
            self._report(error)
        self._observe(ask, begun, result)
        return result

    def _several(self, ask: Ask, begun: float, reply: Any, error: StintError | None) -> MultiResult:
        """Return the result of a request for several limits, or raise an error about the request."""
        result: MultiResult | None = None
        if error is None:
            try:
                bought = len(ask.limits) > 0 and ask.limits[-1][1].algorithm.form == "balance"
                result = parse_multi(reply, bought)
            except StintError as unknown:
                error = unknown
        if result is None:
            assert error is not None
            result = self._judge.several(time.monotonic(), error, ask.limits, ask.tokens, ask.option == "PEEK")
            self._report(error)
        self._observe(ask, begun, result)
        return result

    def _observe(self, ask: Ask, begun: float, result: Result | MultiResult) -> None:
        hook = self._settings.on_decision
        if hook is not None:
            seconds = time.monotonic() - begun
            hook(Decision(ask.operation, ask.key, ask.tokens, result.allowed, result.source, result.cause, seconds))
        if result.cause is not None and not isinstance(result.cause, UndecidedError):
            raise result.cause

    def _observe_leased(self, key: bytes, begun: float, result: Result) -> Result:
        """Tell the hook about an answer from memory."""
        hook = self._settings.on_decision
        if hook is not None:
            seconds = time.monotonic() - begun
            hook(Decision("allow", key, result.granted, result.allowed, result.source, None, seconds))
        return result

    def _report(self, error: StintError) -> None:
        """Log an error for an operator: the first of a process, and those of the login once in ten seconds."""
        if isinstance(error, UnavailableError):
            _warn_once(error)
        elif isinstance(error, (UnauthenticatedError, ClosedError)) and time.monotonic() - self._logged >= _LOG_EVERY:
            self._logged = time.monotonic()
            log.error("Stint is not asked, so the fallback decides: %s", error)

    def _opening(self, what: str | Sequence[Keyed], caller: Key, request: Request) -> Ask:
        """Ask for what a block takes under an id: of the policy with this name, or of these limits."""
        if isinstance(what, str):
            return asks.check(what, caller, request, self._assumed(what), False)
        return asks.everything(what, request, False)

    def _now(self) -> float:
        """Return the time by which waits are measured, in seconds."""
        return time.monotonic()

    def _assumed(self, policy: str) -> Sequence[Limit]:
        if not isinstance(policy, str):
            raise InvalidError(f"policy: must be the name of a policy, as str, got {policy!r}")
        return self._settings.assumed.get(policy, ())


def request_of(tokens: int | Request) -> Request:
    """Return a request that may have been given as a number of tokens."""
    return tokens if isinstance(tokens, Request) else Request(tokens)
