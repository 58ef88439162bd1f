"""A server in memory that carries out the commands of this package."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..errors import InvalidError, ServerError
from ..limits import ALGORITHMS, Limit, parse
from ..rates import parse_duration
from .states import FOREVER, Decision, decide

_KNOWN = {spec: row for spec, row in ALGORITHMS.items() if spec not in ("FS", "AD")}
_BY_COMMAND = {row.command: row for row in _KNOWN.values()}
Spec = tuple[str, Limit]


def _ms(seconds: Fraction) -> int:
    return -1 if seconds == FOREVER else math.ceil(seconds * 1000)


class FakeServer:
    """Keeps limiters in memory. It has acquires (not FS, AD, HT), RL.ALL, RL.CHECK, RL.REFUND, CC.RELEASE, DEL."""

    def __init__(self, now: Callable[[], Fraction]) -> None:
        self._now = now
        self._keys: dict[str, tuple[Limit, object]] = {}
        self._policies: dict[str, list[Spec]] = {}

    def set_policy(self, name: str, *specs: tuple[str, str]) -> None:
        """Store a policy: pairs of a key with {} in it, and a limit as text."""
        self._policies[name] = [(key, parse(limit)) for key, limit in specs]

    def execute(self, words: list[str]) -> Any:
        """Carry out a command and return its reply; an error reply is a ServerError."""
        name, arguments = words[0], words[1:]
        try:
            if name in _BY_COMMAND:
                return self._acquire(_BY_COMMAND[name].spec, arguments)
            if name == "RL.ALL":
                return self._all(arguments)
            if name == "RL.CHECK":
                return self._check(arguments)
            if name == "RL.REFUND":
                return self._refund(arguments[0], int(arguments[1]))
            if name == "CC.RELEASE":
                return self._release(*arguments)
            if name == "DEL":
                had = self._held(arguments[0]) is not None
                self._keys.pop(arguments[0], None)
                return 1 if had else 0
        except InvalidError as error:
            return ServerError(f"ERR {error}")
        return ServerError(f"ERR the fake server has no {name}")

    def _held(self, key: str) -> tuple[Limit, object] | None:
        """Return the limiter of a key, or None if it has none or is at its full limit."""
        held = self._keys.get(key)
        if held is not None and decide(*held, self._now(), held[0].tokens + 1, "", Fraction(0)).reset == 0:
            del self._keys[key]
            return None
        return held

    def _ask(self, key: str, limit: Limit, n: int, option: str = "", max_wait: str = "") -> Decision:
        held = self._held(key)
        if held is not None and held[0].algorithm is not limit.algorithm:
            raise InvalidError(f"WRONGTYPE the key belongs to {held[0].algorithm.command}")
        wait = parse_duration(max_wait) if max_wait else Fraction(0)
        now, state = self._now(), held[1] if held else None
        if held is not None and isinstance(state, Fraction) and state > now:  # tokens carry over to another rate
            state = now + (state - now) * (held[0].count / held[0].period) * (limit.period / limit.count)
        return decide(limit, state, now, n, option, wait)

    def _acquire(self, spec: str, words: list[str]) -> Any:
        form = ALGORITHMS[spec].form
        count = 4 if form in ("gcra", "leases") else 3  # the key, and the limit's arguments
        limit = parse(" ".join((spec, *words[1:count])))
        rest = words[count:]
        n = int(rest.pop(0)) if rest and ALGORITHMS[spec].takes_tokens else 1
        option = rest[0] if rest else ""
        d = self._ask(words[0], limit, n, option, rest[1] if option == "MAXWAIT" else "")
        if d.granted and option != "PEEK":
            self._keys[words[0]] = (limit, d.state)
        remaining = d.remaining if option == "FORCE" else max(0, d.remaining)  # only FORCE shows a debt
        if form == "gcra":
            after = -1 if d.granted or d.wait == FOREVER else math.ceil(d.wait)
            return [0 if d.granted else 1, limit.tokens, remaining, after, math.ceil(d.reset)]
        return [d.granted, limit.tokens, remaining, _ms(d.wait), _ms(d.reset)]

    def _all(self, words: list[str]) -> Any:
        specs: list[tuple[str, Limit, int | None]] = []
        n, peek, at = 1, False, 0
        while at < len(words):
            word = words[at]
            if word == "TOKENS":
                n, at = int(words[at + 1]), at + 2
            elif word == "PEEK":
                peek, at = True, at + 1
            elif word == "COST":
                key, limit, _ = specs[-1]
                specs[-1], at = (key, limit, int(words[at + 1])), at + 2
            elif word in _KNOWN:
                count = 4 if _KNOWN[word].form in ("gcra", "leases") else 3
                limit = parse(" ".join((word, *words[at + 2 : at + 1 + count])))
                specs.append((words[at + 1], limit, None))
                at += 1 + count
            else:
                raise InvalidError(f"the fake server has no {word} in RL.ALL")
        return self._several([(key, limit, n if cost is None else cost) for key, limit, cost in specs], n, peek)

    def _check(self, words: list[str]) -> Any:
        name, caller, n = words[0], words[1], int(words[2])
        if name not in self._policies:
            return ServerError(f"ERR no such policy '{name}'")
        if unknown := [word for word in words[3:] if word != "PEEK"]:
            raise InvalidError(f"the fake server has no {unknown[0]} in RL.CHECK")
        specs = [(key.replace("{}", caller), limit, n) for key, limit in self._policies[name]]
        return self._several(specs, n, "PEEK" in words[3:])

    def _several(self, specs: list[tuple[str, Limit, int]], n: int, peek: bool) -> Any:
        decisions = [self._ask(key, limit, cost) if cost else self._look(key, limit) for key, limit, cost in specs]
        denied = [i for i, (d, (_, _, cost)) in enumerate(zip(decisions, specs, strict=True)) if cost and not d.granted]
        if denied:
            longest = max(denied, key=lambda i: math.inf if decisions[i].wait == FOREVER else decisions[i].wait)
            states = [self._state(key, limit) for key, limit, _ in specs]
            return [0, longest, _ms(decisions[longest].wait), states]
        wait = max(d.wait for d in decisions)
        for (key, limit, cost), d in zip(specs, decisions, strict=True):
            if cost and not peek:
                self._keys[key] = (limit, d.state)
        states = [[limit.tokens, d.remaining, _ms(d.reset)] for (_, limit, _), d in zip(specs, decisions, strict=True)]
        return [n, -1, _ms(wait), states]

    def _look(self, key: str, limit: Limit) -> Decision:
        """Return the state of a limit of which nothing is asked."""
        _, remaining, reset = self._state(key, limit)
        return Decision(0, remaining, Fraction(0), Fraction(reset, 1000), None)

    def _state(self, key: str, limit: Limit) -> list[int]:
        never = self._present(key, limit)
        return [limit.tokens, max(0, never.remaining), _ms(never.reset)]

    def _present(self, key: str, limit: Limit) -> Decision:
        return self._ask(key, limit, limit.tokens + 1)  # denied, so it has the present state

    def _refund(self, key: str, n: int) -> Any:
        held = self._held(key)
        if held is None:
            return None
        limit, state, now = *held, self._now()
        left = self._present(key, limit).remaining
        back = min(n, limit.tokens - left)
        if isinstance(state, Fraction):
            state = max(now, state - back * limit.period / limit.count)
        elif limit.algorithm.spec == "FW" and isinstance(state, tuple):
            state = (state[0], state[1] - back)
        else:
            raise InvalidError(f"the fake server refunds buckets and fixed windows, not {limit}")
        self._keys[key] = (limit, state)
        return left + back

    def _release(self, key: str, holder: str) -> int:
        held = self._keys.get(key)
        if held is None or not isinstance(held[1], dict) or held[1].get(holder, Fraction(0)) <= self._now():
            return 0
        rest = {h: end for h, end in held[1].items() if h != holder}
        self._keys[key] = (held[0], rest)
        return 1
