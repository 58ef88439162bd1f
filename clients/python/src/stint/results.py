"""Results, and reading them from replies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .errors import RefusedError, StintError
from .limits import Limit

NEVER = math.inf
"""The retry_after of a request for more tokens than the limit can ever grant."""


class Source(Enum):
    """The origin of a decision."""

    SERVER = "server"  # Stint decided
    LEASED = "leased"  # a token that Stint has set aside for this process was spent
    LOCAL = "local"  # Stint did not answer, and this process's share of the limit decided
    FALLBACK = "fallback"  # Stint did not answer, and the fallback decided


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one request. Times are in seconds."""

    allowed: bool
    granted: int = 0  # tokens taken
    limit: int = 0  # the largest number that can be granted at once
    remaining: int = 0  # whole tokens left; below zero while in debt
    retry_after: float = 0.0  # after a denial: until the same request would be allowed, or NEVER
    wait: float = 0.0  # after a grant: the time to wait before going ahead
    reset_after: float = 0.0  # until the key is at its full limit
    source: Source = Source.SERVER
    cause: StintError | None = None  # why Stint did not decide
    warn: bool = False  # the use has reached the threshold of Limit.warn(); of several limits, that of any of them
    needs_payment: bool = False  # after a denial: waiting does not help, a balance() lacks credits

    def __bool__(self) -> bool:
        """Return whether to go ahead."""
        return self.allowed


@dataclass(frozen=True, slots=True)
class LimitState:
    """The state of one of several limits."""

    limit: int
    remaining: int
    reset_after: float
    warn: bool = False  # the use has reached the limit's threshold; of a policy, with Request.show_warn
    granted: int = 0  # tokens taken from it, where the last limit is a balance(); with Request.split only


@dataclass(frozen=True, slots=True)
class MultiResult:
    """The answer to a request that several limits had to allow."""

    allowed: bool
    granted: int = 0  # tokens taken from each limit without a cost
    binding: int = -1  # the position of the limit that denied, or that would have in shadow mode
    retry_after: float = 0.0
    wait: float = 0.0
    limits: tuple[LimitState, ...] = field(default=())
    source: Source = Source.SERVER
    cause: StintError | None = None
    needs_payment: bool = False  # as in Result; of a policy, it is known with Request.split only

    def __bool__(self) -> bool:
        """Return whether to go ahead."""
        return self.allowed

    def result(self) -> Result:
        """Return the answer of the limit that denied, or of the one with the smallest remaining fraction."""
        state = LimitState(0, 0, 0.0)
        if self.limits:
            state = min(self.limits, key=lambda s: s.remaining / s.limit if s.limit else 0.0)
            if not self.allowed and 0 <= self.binding < len(self.limits):
                state = self.limits[self.binding]
        return Result(
            self.allowed,
            self.granted,
            state.limit,
            state.remaining,
            self.retry_after,
            self.wait,
            state.reset_after,
            self.source,
            self.cause,
            any(one.warn for one in self.limits),
            self.needs_payment,
        )


@dataclass(frozen=True, slots=True)
class Charge:
    """What one limit of a settled request was charged, and its state."""

    charged: int
    limit: int
    remaining: int
    reset_after: float


def unknown(reply: Any) -> RefusedError:
    """Return the error about a reply of another form."""
    return RefusedError(f"the reply has an unknown form, is this a Stint server? {str(reply)[:100]}")


def integers(reply: Any, count: int) -> list[int]:
    """Read a list of this number of integers."""
    if not isinstance(reply, list) or len(reply) != count or not all(type(n) is int for n in reply):
        raise unknown(reply)
    return reply


def seconds(ms: int) -> float:
    """Return the seconds of a time in milliseconds, or NEVER."""
    return NEVER if ms < 0 else ms / 1000


def parse_result(reply: Any, limit: Limit, asked: int) -> Result:
    """Read the five integers of an acquire, and the sixth of a limit that warns."""
    first, most, remaining, after, reset, *more = integers(reply, 6 if limit.threshold else 5)
    warn = more == [1]
    if limit.algorithm.form == "gcra":  # limited, limit, remaining, retry_after_s, reset_after_s
        if first == 0:
            return Result(True, asked, most, remaining, reset_after=float(reset))
        return Result(False, 0, most, remaining, NEVER if after < 0 else float(after), 0.0, float(reset))
    if first > 0:
        return Result(True, first, most, remaining, 0.0, seconds(after), seconds(reset), warn=warn)
    needs_payment = after < 0 and limit.algorithm.form == "balance"
    return Result(
        False, 0, most, remaining, seconds(after), 0.0, seconds(reset), warn=warn, needs_payment=needs_payment
    )


def parse_at_most(reply: Any, limit: Limit) -> Result:
    """Read the reply of RL.ATMOST, which has the form of TB.ACQUIRE's for all limits."""
    taken, most, remaining, _, reset, *more = integers(reply, 6 if limit.threshold else 5)
    return Result(True, taken, most, remaining, 0.0, 0.0, seconds(reset), warn=more == [1])


def _state(reply: Any) -> LimitState:
    count = min(max(3, len(reply)), 5) if isinstance(reply, list) else 3
    limit, remaining, reset, *more = integers(reply, count)  # warn, and with SPLIT granted
    return LimitState(limit, remaining, seconds(reset), more[:1] == [1], sum(more[1:]))


def parse_multi(reply: Any, bought: bool) -> MultiResult:
    """Read the reply of RL.ALL, RL.CHECK and RL.EXTEND, which has a fifth part, the tokens that are reserved in all.

    bought says that the last limit is known to be a balance. A reply with SPLIT shows it.
    """
    if not isinstance(reply, list) or len(reply) not in (4, 5) or not isinstance(reply[3], list):
        raise unknown(reply)
    granted, binding, after = integers(reply[:3], 3)
    states = tuple(_state(state) for state in reply[3])
    if granted > 0:
        return MultiResult(True, granted, binding, 0.0, seconds(after), states)
    bought = bought or any(len(state) == 5 for state in reply[3])
    needs_payment = bought and after < 0 and binding == len(states) - 1
    return MultiResult(False, 0, binding, seconds(after), 0.0, states, needs_payment=needs_payment)


def parse_charges(reply: Any) -> list[Charge] | None:
    """Read the reply of RL.SETTLE and RL.CANCEL: None if the server does not know the id."""
    if reply is None:
        return None
    if not isinstance(reply, list):
        raise unknown(reply)
    return [Charge(n[0], n[1], n[2], seconds(n[3])) for n in (integers(charge, 4) for charge in reply)]


def parse_refund(reply: Any) -> int | None:
    """Read the reply of RL.REFUND: None if the key has no usage."""
    if reply is None or type(reply) is int:
        return reply
    raise unknown(reply)


def parse_integer(reply: Any) -> int:
    """Read a reply that is one integer."""
    if type(reply) is int:
        return reply
    raise unknown(reply)
