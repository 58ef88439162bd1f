"""A server in memory that carries out the commands of this package."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..errors import InvalidError, ServerError
from ..limits import ALGORITHMS, Limit, parse
from ..rates import parse_duration
from .states import FOREVER, Decision, decide, is_full, warn_at
from .windows import Window, history_of, is_aligned, present

_KNOWN = {spec: row for spec, row in ALGORITHMS.items() if spec not in ("FS", "AD")}
_BY_COMMAND = {row.command: row for row in _KNOWN.values()}
Spec = tuple[str, Limit]


def _ms(seconds: Fraction) -> int:
    return -1 if seconds == FOREVER else math.ceil(seconds * 1000)


def _lacks(what: str) -> str:
    return f"the fake server has no {what}: take a real server for this test, with stint server --listen 127.0.0.1:0"


def _take_options(words: list[str]) -> list[str]:
    """Take the options of a limit from the words behind it."""
    taken: list[str] = []
    while words and words[0] in ("TZ", "FROM", "HISTORY", "WARN"):
        taken += words[:2]
        del words[:2]
    return taken


def _warning(limit: Limit, remaining: int) -> list[int]:
    """Return the field of a limit that warns."""
    return [int(limit.tokens - remaining >= warn_at(limit))] if limit.threshold else []


class FakeServer:
    """Keeps limiters in memory.

    It has acquires (not FS, AD, HT), RL.ALL, RL.CHECK, RL.USAGE, RL.POLICY USAGE, RL.REFUND, CC.RELEASE and DEL.
    """

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
            if name == "RL.USAGE":
                held = self._held(arguments[0])
                return None if held is None else self._usage(arguments[0], held)
            if name == "RL.POLICY" and arguments[0] == "USAGE":
                return self._policy_usage(*arguments[1:])
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
        return ServerError(f"ERR {_lacks(name)}")

    def _held(self, key: str) -> tuple[Limit, object] | None:
        """Return the limiter of a key, or None if it has none or is at its full limit."""
        held = self._keys.get(key)
        if held is not None and is_full(*held, self._now()):
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
        rest = words[count:]
        n = int(rest.pop(0)) if rest and ALGORITHMS[spec].takes_tokens else 1
        limit = parse(" ".join((spec, *words[1:count], *_take_options(rest))))
        option = rest[0] if rest else ""
        d = self._ask(words[0], limit, n, option, rest[1] if option == "MAXWAIT" else "")
        if d.granted and option != "PEEK":
            self._keys[words[0]] = (limit, d.state)
        remaining = d.remaining if option == "FORCE" else max(0, d.remaining)  # only FORCE shows a debt
        if form == "gcra":
            after = -1 if d.granted or d.wait == FOREVER else math.ceil(d.wait)
            return [0 if d.granted else 1, limit.tokens, remaining, after, math.ceil(d.reset)]
        return [d.granted, limit.tokens, remaining, _ms(d.wait), _ms(d.reset), *_warning(limit, remaining)]

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
                rest = words[at + 1 + count :]
                options = _take_options(rest)
                limit = parse(" ".join((word, *words[at + 2 : at + 1 + count], *options)))
                specs.append((words[at + 1], limit, None))
                at += 1 + count + len(options)
            else:
                raise InvalidError(_lacks(f"{word} in RL.ALL"))
        return self._several([(key, limit, n if cost is None else cost) for key, limit, cost in specs], n, peek, True)

    def _check(self, words: list[str]) -> Any:
        n, at = int(words[2]), words.index("WITH", 3) if "WITH" in words[3:] else len(words)
        options = words[3:at]
        if unknown := [word for word in options if word not in ("PEEK", "WARN")]:
            raise InvalidError(_lacks(f"{unknown[0]} in RL.CHECK"))
        specs = [(key, limit, n) for key, limit in self._limits(words[0], words[1], words[at + 1 :])]
        return self._several(specs, n, "PEEK" in options, "WARN" in options)

    def _limits(self, policy: str, caller: str, fields: list[str]) -> list[Spec]:
        """Return the limits of a policy for a caller, with their keys filled in."""
        if policy not in self._policies:
            raise InvalidError(f"no such policy '{policy}'; store it with set_policy")
        values = {"": caller, **dict(zip(fields[::2], fields[1::2], strict=True))}
        try:
            filled = [re.sub(r"\{([^{}]*)\}", lambda name: values[name[1]], key) for key, _ in self._policies[policy]]
        except KeyError as error:
            raise InvalidError(f"WITH: the policy needs the field {error}") from None
        return [(key, limit) for key, (_, limit) in zip(filled, self._policies[policy], strict=True)]

    def _policy_usage(self, policy: str, caller: str, *fields: str) -> list[list[Any]]:
        usages = []
        for key, limit in self._limits(policy, caller, list(fields[1:])):
            usages.append([b"key", key.encode("utf-8", "surrogateescape"), *self._usage(key, self._held(key), limit)])
        return usages

    def _usage(self, key: str, held: tuple[Limit, object] | None, unused: Limit | None = None) -> list[Any]:
        """Return the fields of the usage of a limiter. Nothing is lent, and nothing reserved."""
        limit = held[0] if held is not None else unused
        assert limit is not None
        remaining = limit.tokens if held is None else self._present(key, limit).remaining
        start = end = reserved = None
        closed: list[list[int]] = []
        if held is not None and isinstance(held[1], Window):
            w = present(limit, held[1], self._now())
            if w.taken or is_aligned(limit):
                start, end = _ms(w.start), _ms(w.end)
            reserved = 0 if history_of(limit) else None
            closed = [[_ms(past.start), _ms(past.end), past.taken, 0] for past in w.closed]
        used, names = limit.tokens - remaining, (b"limit", b"used", b"reserved", b"lent", b"remaining")
        values = dict(zip(names, (limit.tokens, used, reserved, 0, remaining), strict=True))
        fields = {**values, b"start_ms": start, b"end_ms": end, b"history": closed}
        return [word for field in fields.items() for word in field]

    def _several(self, specs: list[tuple[str, Limit, int]], n: int, peek: bool, show_warn: bool) -> Any:
        decisions = [self._ask(key, limit, cost) if cost else self._look(key, limit) for key, limit, cost in specs]
        denied = [i for i, (d, (_, _, cost)) in enumerate(zip(decisions, specs, strict=True)) if cost and not d.granted]
        if denied:
            longest = max(denied, key=lambda i: math.inf if decisions[i].wait == FOREVER else decisions[i].wait)
            states = [self._state(key, limit, show_warn) for key, limit, _ in specs]
            return [0, longest, _ms(decisions[longest].wait), states]
        wait = max(d.wait for d in decisions)
        for (key, limit, cost), d in zip(specs, decisions, strict=True):
            if cost and not peek:
                self._keys[key] = (limit, d.state)
        states = [
            [limit.tokens, d.remaining, _ms(d.reset), *(_warning(limit, d.remaining) if show_warn else [])]
            for (_, limit, _), d in zip(specs, decisions, strict=True)
        ]
        return [n, -1, _ms(wait), states]

    def _look(self, key: str, limit: Limit) -> Decision:
        """Return the state of a limit of which nothing is asked."""
        _, remaining, reset = self._state(key, limit, False)
        return Decision(0, remaining, Fraction(0), Fraction(reset, 1000), None)

    def _state(self, key: str, limit: Limit, show_warn: bool) -> list[int]:
        never = self._present(key, limit)
        remaining = max(0, never.remaining)
        return [limit.tokens, remaining, _ms(never.reset), *(_warning(limit, remaining) if show_warn else [])]

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
        elif isinstance(state, Window):
            state = replace(state, taken=state.taken - back)
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
