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
    limit: int
    remaining: int
    wait: Fraction
    reset: Fraction
    state: object


@dataclass(frozen=True)
class Window:
    """The state of a fixed window, and of the last one before it with usage. Ends are seconds since the Unix epoch."""

    end: Fraction
    taken: int = 0
    end_before: Fraction | None = None
    left_before: int = 0


@dataclass(frozen=True)
class Credits:
    """The state of a balance."""

    added: int = 0
    spent: int = 0


def decide(limit: Limit, state: object, now: Fraction, n: int, option: str, max_wait: Fraction) -> Decision:
    """Decide on n tokens of a limit. A new key has the state None."""
    if limit.algorithm.spec == "TB":
        return _bucket(limit, state, now, n, option, max_wait)
    if limit.algorithm.spec == "CC":
        return _leases(limit, state, now, n)
    if limit.algorithm.spec == "SW":
        return _segments(limit, state, now, n, option)
    if limit.algorithm.spec == "BAL":
        return _balance(state, n, option)
    return _fixed(limit, state, now, n, option)


def look(limit: Limit, state: object, now: Fraction) -> Decision:
    """Return the present state, as the decision on a request that can never be granted."""
    return decide(limit, state, now, 10**15, "", Fraction(0))


def is_full(limit: Limit, state: object, now: Fraction) -> bool:
    """Return whether a state is that of a new key."""
    if isinstance(state, Window) and rollover(limit):
        before = window_at(limit, state, now).end_before
        if before is not None and now < _window_end(limit, _window_end(limit, before)):
            return False
    return not isinstance(state, Credits) and look(limit, state, now).reset == 0


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
        return Decision(0, limit.tokens, left, FOREVER if is_never else missing - max_wait, full - now, state)
    left = math.floor((now + most - after) / interval)
    wait = Fraction(0) if option == "FORCE" else max(Fraction(0), missing)
    return Decision(n, limit.tokens, left, wait, after - now, after)


def rollover(limit: Limit) -> int:
    """Return the tokens of which at most may roll over to the next window."""
    return limit.tokens * int(limit.anchor[1].removesuffix("%")) // 100 if "ROLLOVER" in limit.anchor else 0


def window_at(limit: Limit, window: Window, now: Fraction) -> Window:
    """Return the window of a time, given the state of a key."""
    return window if window.end > now and window.taken else _after(limit, window, _window_end(limit, now))


def _after(limit: Limit, window: Window, end: Fraction) -> Window:
    """Return the window with an end that follows another one."""
    if window.taken and rollover(limit):
        left = limit.tokens + _rolled_over(limit, window) - window.taken
        return Window(end, 0, window.end, left)
    return replace(window, end=end, taken=0)


def _rolled_over(limit: Limit, window: Window) -> int:
    """Return the tokens that a window has beside its limit.

    After one window without usage they are the most that may roll over, and after two none.
    """
    most = rollover(limit)
    if not most or window.end_before is None:
        return 0
    following = _window_end(limit, window.end_before)
    if following == window.end:
        return min(max(0, window.left_before), most)
    return most if _window_end(limit, following) == window.end else 0


def _fixed(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Fixed window."""
    window = window_at(limit, state if isinstance(state, Window) else Window(now), now)
    tokens = limit.tokens + _rolled_over(limit, window)
    left = tokens - window.taken
    n = _asked(n, left, option)
    if option != "FORCE" and n > left:
        reset = window.end - now if window.taken else Fraction(0)
        return Decision(0, tokens, left, _window_wait(limit, window, now, n), reset, state)
    return Decision(n, tokens, left - n, Fraction(0), window.end - now, replace(window, taken=window.taken + n))


def _window_wait(limit: Limit, window: Window, now: Fraction, n: int) -> Fraction:
    """Return the time until n tokens fit the next window, or the one after it, to which more may roll over."""
    for _ in range(2):
        begin = window.end
        window = _after(limit, window, _window_end(limit, begin))
        if n <= limit.tokens + _rolled_over(limit, window):
            return begin - now
    return FOREVER


def _segments(limit: Limit, state: object, now: Fraction, n: int, option: str) -> Decision:
    """Sliding window in segments: the state is the tokens taken in each, by its number since the Unix epoch."""
    parts = int(limit.anchor[1])
    width = Fraction(math.ceil(limit.period * 10**9 / parts), 10**9)
    present = int(now // width)
    held: dict[int, int] = state if isinstance(state, dict) else {}
    counts = {number: taken for number, taken in held.items() if taken and number >= present - parts}
    taken = sum(counts.values())

    def until(most: int) -> Fraction:
        left = taken
        for number in sorted(counts):
            left -= counts[number]
            if left <= most:
                return (number + parts + 1) * width - now
        return Fraction(0)

    n, left = _asked(n, limit.tokens - taken, option), limit.tokens - taken
    if option != "FORCE" and n > left:
        return Decision(
            0, limit.tokens, left, FOREVER if n > limit.tokens else until(limit.tokens - n), until(0), state
        )
    counts[present] = counts.get(present, 0) + n
    taken += n
    return Decision(n, limit.tokens, left - n, Fraction(0), until(0), counts)


def _balance(state: object, n: int, option: str) -> Decision:
    """Credits that were bought."""
    credits = state if isinstance(state, Credits) else Credits()
    left = credits.added - credits.spent
    n = _asked(n, left, option)
    if option != "FORCE" and n > left:
        return Decision(0, credits.added, left, FOREVER, Fraction(0), state)
    spent = replace(credits, spent=credits.spent + n)
    return Decision(n, credits.added, left - n, Fraction(0), Fraction(0), spent)


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
        return Decision(1, limit.tokens, limit.tokens - len(holders), Fraction(0), max(holders.values()) - now, holders)
    ends = holders.values()
    wait = FOREVER if n > limit.tokens else min(ends) - now
    return Decision(0, limit.tokens, limit.tokens - len(holders), wait, max(ends, default=now) - now, state)
