"""The arithmetic of the algorithms that the fake server knows, exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from ..limits import Limit

FOREVER = Fraction(-1)
_MONTHS = {"@month": 1, "@quarter": 3, "@year": 12}  # of a window


@dataclass(frozen=True)
class Decision:
    """The outcome for one limit. Times are in seconds; FOREVER is never. state is kept if the request is granted."""

    granted: int
    remaining: int
    wait: Fraction
    reset: Fraction
    state: object


@dataclass(frozen=True)
class Window:
    """The state of a fixed window. The end is in seconds since the Unix epoch."""

    end: Fraction
    taken: int = 0


def decide(limit: Limit, state: object, now: Fraction, n: int, option: str, max_wait: Fraction) -> Decision:
    """Decide on n tokens of a limit. A new key has the state None."""
    if limit.algorithm.spec == "TB":
        return _bucket(limit, state, now, n, option, max_wait)
    if limit.algorithm.spec == "CC":
        return _leases(limit, state, now, n)
    return _fixed(limit, state, now, n, option)


def look(limit: Limit, state: object, now: Fraction) -> Decision:
    """Return the present state, as the decision on a request that can never be granted."""
    return decide(limit, state, now, limit.tokens + 1, "", Fraction(0))


def _asked(n: int, left: int, option: str) -> int:
    return max(1, min(n, left)) if option == "UPTO" else n


def _bucket(limit: Limit, state: object, now: Fraction, n: int, option: str, max_wait: Fraction) -> Decision:
    """Token bucket: the state is the time at which all tokens are back."""
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
    wait = Fraction(0) if option == "FORCE" else max(Fraction(0), missing)
    return Decision(n, left, wait, after - now, after)


def _fixed(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Fixed window."""
    window = state if isinstance(state, Window) else Window(now)
    if window.end <= now or not window.taken:
        window = Window(_window_end(limit, now))
    n = _asked(n, limit.tokens - window.taken, option)
    if option != "FORCE" and window.taken + n > limit.tokens:
        reset = window.end - now if window.taken else Fraction(0)
        return Decision(0, limit.tokens - window.taken, FOREVER if n > limit.tokens else reset, reset, state)
    after = replace(window, taken=window.taken + n)
    return Decision(n, limit.tokens - after.taken, Fraction(0), window.end - now, after)


def _window_end(limit: Limit, now: Fraction) -> Fraction:
    """Return the end of the window that holds a time. A window without @ begins with its first request."""
    name = limit.arguments[1].lower()
    midnight = datetime.fromtimestamp(int(now), timezone.utc).replace(hour=0, minute=0, second=0)
    if name == "@week":
        return Fraction(int((midnight + timedelta(days=7 - midnight.weekday())).timestamp()))
    if name in _MONTHS:
        month = midnight.year * 12 + midnight.month - 1
        after = month - month % _MONTHS[name] + _MONTHS[name]
        return Fraction(int(datetime(after // 12, after % 12 + 1, 1, tzinfo=timezone.utc).timestamp()))
    return (now // limit.period + 1) * limit.period if name.startswith("@") else now + limit.period


def _leases(limit: Limit, state: object, now: Fraction, n: int) -> Decision:
    """Concurrency: the state is the holders, with the ends of their leases. More places than the limit only show it."""
    holders = {h: end for h, end in state.items() if end > now} if isinstance(state, dict) else {}
    if n <= limit.tokens and (limit.holder in holders or len(holders) < limit.tokens):
        holders[limit.holder] = now + limit.period
        return Decision(1, limit.tokens - len(holders), Fraction(0), max(holders.values()) - now, holders)
    ends = holders.values()
    wait = FOREVER if n > limit.tokens else min(ends) - now
    return Decision(0, limit.tokens - len(holders), wait, max(ends, default=now) - now, state)
