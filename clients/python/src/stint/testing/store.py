"""The limiters of the fake server, by their keys."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ..errors import InvalidError
from ..limits import Limit
from ..rates import parse_duration
from .states import Decision, decide, is_full


class Store:
    """Keeps limiters in memory."""

    def __init__(self, now: Callable[[], Fraction]) -> None:
        self.now = now
        self._keys: dict[str, tuple[Limit, object]] = {}

    def held(self, key: str) -> tuple[Limit, object] | None:
        """Return the limiter of a key, or None if it has none or is at its full limit."""
        held = self._keys.get(key)
        if held is not None and is_full(*held, self.now()):
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
        held = self.held(key)
        if held is not None and held[0].algorithm is not limit.algorithm:
            raise InvalidError(f"WRONGTYPE the key belongs to {held[0].algorithm.command}")
        wait = parse_duration(max_wait) if max_wait else Fraction(0)
        now, state = self.now(), held[1] if held else None
        if held is not None and isinstance(state, Fraction) and state > now:  # tokens carry over to another rate
            state = now + (state - now) * (held[0].count / held[0].period) * (limit.period / limit.count)
        return decide(limit, state, now, n, option, wait)

    def look(self, key: str, limit: Limit) -> Decision:
        """Return the present state, as the decision on a request that can never be granted."""
        return self.ask(key, limit, limit.tokens + 1)
