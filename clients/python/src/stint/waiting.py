"""Reservations, and when waiting helps."""

from __future__ import annotations

import time
from dataclasses import replace

from .asks import Key
from .checks import is_number, is_whole
from .errors import DeniedError, InvalidError, WouldExceedDeadlineError
from .limits import Limit
from .policy import Policy
from .results import NEVER, Result, Source

LONGEST_WAIT = 365 * 86400.0  # seconds


class Reservation:
    """The right to act at a future time."""

    def __init__(self, result: Result, key: Key) -> None:
        self.result = result
        self.key = key
        self._at = time.monotonic() + result.wait

    @property
    def allowed(self) -> bool:
        """Whether there is such a right."""
        return self.result.allowed

    @property
    def delay(self) -> float:
        """The seconds from now until the caller may act."""
        return max(0.0, self._at - time.monotonic())

    def is_refundable(self) -> bool:
        """Return whether the tokens were taken and the time to act has not come."""
        return self.result.allowed and self.result.source is Source.SERVER and self.delay > 0


def seconds_of(wait: float, name: str = "max_wait") -> float:
    """Return a longest wait, or refuse it."""
    if not is_number(wait):
        raise InvalidError(f"{name}: must be a number of seconds, got {wait!r}")
    return wait


def check_priority(limit: Limit, priority: int | None) -> None:
    """Refuse a priority that the server would refuse."""
    if priority is not None and not (limit.holder and is_whole(priority, 0, 9)):
        raise InvalidError(f"priority: must be an integer from 0 to 9, for a concurrency limit, got {priority!r}")


def how_to_reserve(limit: Limit, max_wait: float) -> tuple[str, float]:
    """Return the option of the command, and its time."""
    if not limit.algorithm.reserves:
        raise InvalidError(f"only buckets and queues can be reserved ahead of time, not {limit}")
    if seconds_of(max_wait) >= 0.001 and "MAXWAIT" in limit.algorithm.options:
        return "MAXWAIT", max_wait
    return "", 0.0


def after_queue(limit: Limit, result: Result, max_wait: float) -> Result | None:
    """Return the denial in place of a queue's place with a longer wait than max_wait; None if it is no such place."""
    if "MAXWAIT" in limit.algorithm.options or not result.allowed or result.wait <= max_wait:
        return None
    return replace(result, allowed=False, granted=0, retry_after=result.wait - max_wait, wait=0.0)


def give_up(limit: Limit, denied: Result, n: int, max_wait: float, when_down: Policy) -> float:
    """Return the pause before asking again, or raise an error if waiting does not help."""
    if denied.source is Source.FALLBACK and when_down.kind == "fail_closed":
        raise DeniedError(f"denied: {denied.cause}") from denied.cause
    if denied.needs_payment:
        raise DeniedError(f"the balance has fewer than {n} credits, and only a payment helps")
    if denied.retry_after == NEVER:
        raise DeniedError(f"{n} tokens are more than {limit} can ever grant")
    is_adaptive = limit.algorithm.form == "adaptive"  # it is not reserved in its pause, which may end in time
    is_bucket = "MAXWAIT" in limit.algorithm.options and not is_adaptive
    if (denied.source is Source.SERVER and is_bucket) or denied.retry_after > max_wait:
        raise WouldExceedDeadlineError(
            f"it would take {denied.retry_after:.3f} s, longer than the {max_wait:.3f} s allowed"
        )
    if denied.source is Source.SERVER and limit.algorithm.reserves and not is_adaptive:
        raise DeniedError(f"the queue is full, {limit.tokens - 1} are waiting")
    return denied.retry_after
