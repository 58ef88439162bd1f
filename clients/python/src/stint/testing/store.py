"""The limiters of the fake server, by their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from ..errors import InvalidError
from ..limits import Limit, balance
from ..rates import parse_duration
from .states import Credits, Decision, Window, decide, is_full, look, rollover, window_at


class Store:
    """Keeps limiters in memory."""

    def __init__(self, now: Callable[[], Fraction]) -> None:
        self._now = now
        self._keys: dict[str, tuple[Limit, object]] = {}
        self._payments: dict[str, tuple[str, int]] = {}

    def held(self, key: str) -> tuple[Limit, object] | None:
        """Return the limiter of a key, or None if it has none or is at its full limit."""
        held = self._keys.get(key)
        if held is not None and is_full(*held, self._now()):
            del self._keys[key]
            return None
        return held

    def keep(self, key: str, limit: Limit, state: object) -> None:
        """Keep the state of a decision."""
        self._keys[key] = (limit, state)

    def delete(self, key: str) -> bool:
        """Reset a key, and return whether there was something to reset."""
        had = self.held(key) is not None
        self._keys.pop(key, None)
        return had

    def ask(self, key: str, limit: Limit, n: int, option: str = "", max_wait: str = "") -> Decision:
        """Decide, and leave the state as it is."""
        wait = parse_duration(max_wait) if max_wait else Fraction(0)
        return decide(limit, self._state(key, limit), self._now(), n, option, wait)

    def look(self, key: str, limit: Limit) -> Decision:
        """Return the present state of a limit."""
        return look(limit, self._state(key, limit), self._now())

    def refund(self, key: str, n: int) -> int | None:
        """Give tokens back, and return how many are left, or None if the key has no limiter."""
        held = self.held(key)
        if held is None:
            return None
        limit, state = held
        present = self.look(key, limit)
        left = present.remaining
        back = min(n, present.limit - left)
        if isinstance(state, Fraction):
            self.keep(key, limit, state - back * limit.period / limit.count)
        elif isinstance(state, Window):
            window = window_at(limit, state, self._now())
            self.keep(key, limit, replace(window, taken=window.taken - back))
        elif isinstance(state, Credits):
            self.keep(key, limit, replace(state, spent=state.spent - back))
        elif isinstance(state, dict) and limit.algorithm.spec == "SW":
            self.keep(key, limit, _without(state, back))
        else:
            raise InvalidError(f"the fake server refunds no places, got {limit}")
        return left + back

    def add_credits(self, key: str, credits: int, payment: str) -> list[int]:
        """Add the credits of a payment, once, and return them and the balance."""
        limit = balance()
        state = self._state(key, limit)
        present = state if isinstance(state, Credits) else Credits()
        if payment not in self._payments:
            self._payments[payment] = (key, credits)
            present = replace(present, added=present.added + credits)
            self.keep(key, limit, present)
        elif self._payments[payment] != (key, credits):
            raise InvalidError("AS: the id was used for a request with other parameters; nothing was taken")
        return [credits, present.added - present.spent]

    def credits(self, key: str) -> list[object] | None:
        """Return a balance and its grants, or None if there is none."""
        state = self._state(key, balance())
        if not isinstance(state, Credits):
            return None
        left = state.added - state.spent
        return [b"balance", left, b"grants", [[left, None]] if left > 0 else []]

    def release(self, key: str, holder: str) -> int:
        """Give back a place of a concurrency limit, and return 1 if the holder had one."""
        held = self.held(key)
        if held is None or not isinstance(held[1], dict) or held[1].get(holder, Fraction(0)) <= self._now():
            return 0
        self.keep(key, held[0], {h: end for h, end in held[1].items() if h != holder})
        return 1

    def _state(self, key: str, limit: Limit) -> object:
        """Return the state of a key under a limit, to which the tokens taken under another rate carry over."""
        held, now = self.held(key), self._now()
        if held is None:
            return None
        if held[0].algorithm is not limit.algorithm:
            raise InvalidError(f"WRONGTYPE the key belongs to {held[0].algorithm.command}")
        if isinstance(held[1], Fraction):
            return now + (held[1] - now) * (held[0].count / held[0].period) * (limit.period / limit.count)
        if isinstance(held[1], Window) and not rollover(limit):
            return replace(held[1], end_before=None)
        return held[1]


def _without(segments: dict[int, int], tokens: int) -> dict[int, int]:
    """Return segments without some tokens, those that were taken last."""
    rest = dict(segments)
    for number in sorted(rest, reverse=True):
        back = min(tokens, rest[number])
        rest[number] -= back
        tokens -= back
    return rest
