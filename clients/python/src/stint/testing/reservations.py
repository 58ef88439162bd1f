"""Requests with an id on the fake server: grants that are remembered, and settled once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..errors import InvalidError
from ..limits import Limit
from .states import FOREVER
from .store import Store
from .windows import Window


@dataclass
class TakenLimit:
    """A limit of a reservation. The mark is the window, or the time, in which the tokens were taken."""

    key: str
    limit: Limit
    has_cost: bool
    charged: int
    mark: object


@dataclass
class Reservation:
    """A grant that is remembered under an id. The answer is the beginning of the reply."""

    request: list[str]
    end: Fraction
    answer: list[int]
    parts: list[TakenLimit]
    is_settled: bool = False


class Reservations:
    """The reservations of a fake server, by their ids."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: dict[str, Reservation] = {}

    def held(self, name: str) -> Reservation | None:
        """Return the reservation of an id, until its end."""
        held = self._ids.get(name)
        return held if held is not None and held.end > self._store.now() else None

    def keep(self, name: str, reservation: Reservation) -> None:
        """Remember a grant."""
        self._ids[name] = reservation

    def delete(self, name: str) -> bool:
        """Forget an id, and return whether there was something to forget."""
        had = self.held(name) is not None
        self._ids.pop(name, None)
        return had

    def settle(self, name: str, *words: str) -> Any:
        """Carry out RL.SETTLE."""

        def amounts(parts: Sequence[TakenLimit]) -> list[int]:
            if words[0] != "COSTS":
                return [part.charged if part.has_cost else int(words[0]) for part in parts]
            costs = words[1:]
            if len(costs) != len(parts):
                raise InvalidError(f"COSTS: needs an amount or - for each of the {len(parts)} limits of the request")
            return [p.charged if cost == "-" else int(cost) for cost, p in zip(costs, parts, strict=True)]

        return self._charge(name, amounts)

    def cancel(self, name: str) -> Any:
        """Carry out RL.CANCEL."""
        return self._charge(name, lambda parts: [0] * len(parts))

    def _charge(self, name: str, amounts_of: Callable[[Sequence[TakenLimit]], list[int]]) -> Any:
        held = self.held(name)
        if held is None:
            return None
        amounts = [0 if is_place(p.limit) else n for p, n in zip(held.parts, amounts_of(held.parts), strict=True)]
        if held.is_settled and amounts != [part.charged for part in held.parts]:
            raise InvalidError("id: it was settled or canceled with other amounts; nothing was changed")
        if not held.is_settled:
            held.is_settled = True
            for part, amount in zip(held.parts, amounts, strict=True):
                self._recharge(part, amount)
        return [self._charged(part) for part in held.parts]

    def _charged(self, part: TakenLimit) -> list[int]:
        limit = self._present_limit(part)
        state = self._store.look(part.key, limit)
        return [part.charged, limit.tokens, state.remaining, milliseconds(state.reset)]

    def _recharge(self, part: TakenLimit, amount: int) -> None:
        """Take what is missing, also if it is not there, or give back what was not used."""
        store, key, limit, more = self._store, part.key, self._present_limit(part), amount - part.charged
        if more > 0:
            store.keep(key, limit, store.ask(key, limit, more, "FORCE").state)
        elif (held := store.held(key)) is not None and held[0].algorithm is limit.algorithm:
            store.keep(key, limit, _returned(limit, held[1], -more, part.mark))
        after = store.held(key)
        if after is not None and isinstance(after[1], Window):
            store.keep(key, limit, _in_window(after[1], part.mark, 0, part.charged))
        part.charged = amount

    def _present_limit(self, part: TakenLimit) -> Limit:
        """Return the limit that a key is held to now, if it is one of the same algorithm."""
        held = self._store.held(part.key)
        is_same = held is not None and held[0].algorithm is part.limit.algorithm and not is_place(part.limit)
        return held[0] if held is not None and is_same else part.limit


def milliseconds(seconds: Fraction) -> int:
    """Return a time in replies: rounded up, and -1 for never."""
    return -1 if seconds == FOREVER else math.ceil(seconds * 1000)


def mark_of(state: object, now: Fraction) -> object:
    """Return the window or the time of the tokens that a state was given last."""
    if isinstance(state, Window):
        return state.end
    return state[0] if isinstance(state, tuple) else now


def reserve(state: object, granted: int) -> object:
    """Return a state with tokens that are reserved, of those taken."""
    return replace(state, reserved=state.reserved + granted) if isinstance(state, Window) else state


def is_place(limit: Limit) -> bool:
    """Report whether a limit counts places, of which a request takes one."""
    return limit.algorithm.form == "leases"


def _in_window(window: Window, end: object, taken: int, reserved: int) -> Window:
    """Return a window with less in the one with an end, which may be over."""
    if window.end == end:
        return replace(window, taken=max(0, window.taken - taken), reserved=max(0, window.reserved - reserved))
    closed = [
        replace(past, taken=max(0, past.taken - taken), reserved=max(0, past.reserved - reserved))
        if past.end == end
        else past
        for past in window.closed
    ]
    return replace(window, closed=tuple(past for past in closed if past.taken))


def _returned(limit: Limit, state: object, back: int, mark: object) -> object:
    """Return a state after tokens went back to the window, or the time, that they were taken from."""
    if isinstance(state, Fraction):
        return state - back * limit.period / limit.count
    if isinstance(state, Window):
        return _in_window(state, mark, back, 0)
    if isinstance(state, list):
        left = [(at, max(0, tokens - back) if at == mark else tokens) for at, tokens in state]
        return [grant for grant in left if grant[1]]
    if isinstance(state, tuple):
        number, current, before = state
        if number == mark:
            return number, max(0, current - back), before
        return (number, current, max(0, before - back)) if number - 1 == mark else state
    assert isinstance(state, dict)
    return {holder: end for holder, end in state.items() if holder != limit.arguments[2]}
