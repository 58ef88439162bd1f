"""The policies that decide in place of Stint while it does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .checks import is_number
from .errors import InvalidError, StintError, UndecidedError
from .limits import Limit
from .local import Buckets, Taken
from .results import MultiResult, Result, Source

RETRY_WHEN_DOWN = 1.0
"""Seconds: the retry_after of a denial while Stint is down. It is a guess."""


@dataclass(frozen=True)
class Policy:
    """Decides while Stint does not answer. Make one with fail_open, fail_closed or local_share."""

    kind: str
    share: float = 0.0


def fail_open() -> Policy:
    """Allow everything: for limits that serve fairness."""
    return Policy("fail_open")


def fail_closed() -> Policy:
    """Deny everything: for limits that must never be exceeded."""
    return Policy("fail_closed")


def local_share(share: float) -> Policy:
    """Keep this process to a share of each limit, above 0 and at most 1."""
    if not is_number(share) or not 0 < share <= 1:
        raise InvalidError(f"local_share: the share must be a number above 0 and at most 1, got {share!r}")
    return Policy("local_share", share)


def must_be_policy(value: object) -> Policy:
    """Refuse what is no policy, and a policy that is missing."""
    if not isinstance(value, Policy):
        raise InvalidError(
            f"when_down: choose who decides while Stint does not answer: fail_open() allows requests, fail_closed() "
            f"denies them, local_share(1 / 8) gives this process an eighth of each limit; got {value!r}"
        )
    return value


class Judge:
    """Gives the answers of a policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._buckets = Buckets(policy.share) if policy.kind == "local_share" else None

    def after_fork(self) -> None:
        """Take new locks in a forked process."""
        if self._buckets is not None:
            self._buckets.after_fork()

    def one(
        self, now: float, error: StintError, asks: Sequence[tuple[bytes, Limit, int]], n: int, option: str
    ) -> Result:
        """Answer a request for the first limit, and for its ancestors if there are others.

        An error about the request itself is a denial under every policy.
        """
        most, source = asks[0][1].tokens, Source.FALLBACK
        if not isinstance(error, UndecidedError):
            return Result(False, limit=most, retry_after=RETRY_WHEN_DOWN, source=source, cause=error)
        if option == "FORCE" or self.policy.kind == "fail_open":
            return Result(True, n, most, source=source, cause=error)
        if self._buckets is None:
            return Result(False, limit=most, retry_after=RETRY_WHEN_DOWN, source=source, cause=error)
        taken = self._buckets.take(now, asks, option != "PEEK")
        if taken.binding >= 0 and option == "UPTO" and taken.states[0].remaining > 0:
            n = taken.states[0].remaining
            taken = self._buckets.take(now, [(asks[0][0], asks[0][1], n)], True)
        state, allowed = taken.states[0], taken.binding < 0
        granted, retry = (n, 0.0) if allowed else (0, taken.retry_after)
        return Result(
            allowed, granted, state.limit, state.remaining, retry, 0.0, state.reset_after, Source.LOCAL, error
        )

    def several(
        self, now: float, error: StintError, asks: Sequence[tuple[bytes, Limit, int]], n: int, peek: bool = False
    ) -> MultiResult:
        """Answer a request for several limits."""
        if isinstance(error, UndecidedError):
            if self.policy.kind == "fail_open":
                return MultiResult(True, n, source=Source.FALLBACK, cause=error)
            if self._buckets is not None and asks:
                taken: Taken = self._buckets.take(now, asks, not peek)
                granted = n if taken.binding < 0 else 0
                return MultiResult(
                    taken.binding < 0, granted, taken.binding, taken.retry_after, 0.0, taken.states, Source.LOCAL, error
                )
        return MultiResult(False, retry_after=RETRY_WHEN_DOWN, source=Source.FALLBACK, cause=error)
