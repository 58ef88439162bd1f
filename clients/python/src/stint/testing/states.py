"""The arithmetic of the algorithms, exact, for the fake server."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ..limits import Limit
from .windows import Window, counts, present

FOREVER = Fraction(-1)


@dataclass(frozen=True)
class Decision:
    """The outcome for one limit. Times are in seconds; FOREVER is never. state is kept if the request is granted."""

    granted: int
    remaining: int
    wait: Fraction
    reset: Fraction
    state: object


def decide(limit: Limit, state: object, now: Fraction, n: int, option: str, max_wait: Fraction) -> Decision:
    """Decide on n tokens of a limit. A new key has the state None."""
    spec = limit.algorithm.spec
    if spec in ("TB", "LB", "LQ", "CL"):
        return _bucket(limit, state, now, n, option, max_wait)
    if spec == "CC":
        return _leases(limit, state, now, n)
    if spec == "SL":
        return _log(limit, state, now, n, option)
    if spec == "SW":
        return _sliding(limit, state, now, n, option)
    return _fixed(limit, state, now, n, option)


def is_full(limit: Limit, state: object, now: Fraction) -> bool:
    """Return whether a state equals that of a new key."""
    if isinstance(state, Window):
        return not counts(limit, state, now)
    return decide(limit, state, now, limit.tokens + 1, "", Fraction(0)).reset == 0


def warn_at(limit: Limit) -> int:
    """Return the number of tokens from which on a limit warns."""
    return -(-limit.tokens * limit.threshold // 100)


def _asked(n: int, left: int, option: str) -> int:
    return max(1, min(n, left)) if option == "UPTO" else n


def _bucket(limit: Limit, state: object, now: Fraction, n: int, option: str, max_wait: Fraction) -> Decision:
    """Token bucket, meter, queue and GCRA: the state is the time at which all tokens are back."""
    interval = limit.period / limit.count
    full = max(state, now) if isinstance(state, Fraction) else now
    most = limit.tokens * interval
    n = _asked(n, math.floor((now + most - full) / interval), option)
    after = full + n * interval
    missing = after - now - most
    is_never = n > limit.tokens
    if option != "FORCE" and (is_never or missing > max_wait):
        left = math.floor((now + most - full) / interval)
        return Decision(0, left, FOREVER if is_never else missing - max_wait, full - now, state)
    left = math.floor((now + most - after) / interval)
    wait = (
        full - now if limit.algorithm.spec == "LQ" else Fraction(0) if option == "FORCE" else max(Fraction(0), missing)
    )
    return Decision(n, left, wait, after - now, after)


def _fixed(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Fixed window."""
    window = present(limit, state, now)
    n = _asked(n, limit.tokens - window.taken, option)
    if option != "FORCE" and window.taken + n > limit.tokens:
        reset = window.end - now if window.taken else Fraction(0)
        return Decision(0, limit.tokens - window.taken, FOREVER if n > limit.tokens else reset, reset, state)
    taken = window.taken + n
    has_warned = window.has_warned or (limit.threshold > 0 and taken >= warn_at(limit))
    after = replace(window, taken=taken, has_warned=has_warned)
    return Decision(n, limit.tokens - taken, Fraction(0), window.end - now, after)


def _log(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Sliding log: the state is the times of the grants, with their tokens."""
    grants = [g for g in state if g[0] > now - limit.period] if isinstance(state, list) else []
    taken = sum(tokens for _, tokens in grants)
    n = _asked(n, limit.tokens - taken, option)
    reset = grants[-1][0] + limit.period - now if grants else Fraction(0)
    if option == "FORCE" or taken + n <= limit.tokens:
        return Decision(n, limit.tokens - taken - n, Fraction(0), limit.period, [*grants, (now, n)])
    if n > limit.tokens:
        return Decision(0, limit.tokens - taken, FOREVER, reset, state)
    excess, wait = taken + n - limit.tokens, Fraction(0)
    for at, tokens in grants:
        if excess > 0:
            wait, excess = at + limit.period - now, excess - tokens
    return Decision(0, limit.tokens - taken, wait, reset, state)


def _sliding(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Sliding window of two counters: the state is the number of the window, its tokens, and the tokens before it."""
    size = limit.period
    window = now // size
    number, current, before = state if isinstance(state, tuple) else (window, 0, 0)
    if number != window:
        current, before = 0, current if number == window - 1 else 0
    elapsed = now - window * size
    left = math.floor(limit.tokens - current - before * (size - elapsed) / size)
    n = _asked(n, left, option)
    if option == "FORCE" or n <= left:
        reset = 2 * size - elapsed
        return Decision(n, left - n, Fraction(0), reset, (window, current + n, before))
    reset = 2 * size - elapsed if current else size - elapsed if before else Fraction(0)
    if n > limit.tokens:
        return Decision(0, left, FOREVER, reset, state)
    if current + n <= limit.tokens:  # when enough of the window before has gone
        wait = size - elapsed - (limit.tokens - current - n) * size / before
    else:  # in the next window, when enough of this one has gone
        wait = 2 * size - elapsed - (limit.tokens - n) * size / current
    return Decision(0, left, wait, reset, state)


def _leases(limit: Limit, state: object, now: Fraction, n: int) -> Decision:
    """Concurrency: the state is the holders, with the ends of their leases. More places than the limit only show it."""
    holders = {h: end for h, end in state.items() if end > now} if isinstance(state, dict) else {}
    if n <= limit.tokens and (limit.holder in holders or len(holders) < limit.tokens):
        holders[limit.holder] = now + limit.period
        return Decision(1, limit.tokens - len(holders), Fraction(0), max(holders.values()) - now, holders)
    ends = holders.values()
    wait = FOREVER if n > limit.tokens else min(ends) - now
    return Decision(0, limit.tokens - len(holders), wait, max(ends, default=now) - now, state)
