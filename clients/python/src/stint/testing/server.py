"""A server in memory that carries out the commands of this package."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..errors import InvalidError, ServerError
from ..limits import ALGORITHMS, Limit, parse
from ..rates import parse_duration
from .reservations import Reservation, Reservations, TakenLimit, is_place, mark_of, milliseconds, reserve
from .states import FOREVER, Decision, warn_at
from .store import Store
from .windows import Window, history_of, is_aligned, present

_KNOWN = {spec: row for spec, row in ALGORITHMS.items() if spec not in ("FS", "AD")}
_BY_COMMAND = {row.command: row for row in _KNOWN.values()}
Spec = tuple[str, Limit]


def _lacks(what: str) -> str:
    return f"the fake server has no {what}: take a real server for this test, with stint server --listen 127.0.0.1:0"


def _take_options(words: list[str]) -> list[str]:
    """Take the options of a limit from the words behind it."""
    taken: list[str] = []
    while words and words[0] in ("TZ", "FROM", "HISTORY", "WARN"):
        taken += words[:2]
        del words[:2]
    return taken


def _warning(limit: Limit, remaining: int, show_warn: bool = True) -> list[int]:
    """Return the field of a limit that warns."""
    return [int(limit.tokens - remaining >= warn_at(limit))] if limit.threshold and show_warn else []


@dataclass
class _AskedLimit:
    """One of several limits. Without a cost it is asked for the tokens of the request."""

    key: str
    limit: Limit
    cost: int | None = None


@dataclass
class _Asked:
    """A request to several limits."""

    words: list[str]
    tokens: int = 1
    peek: bool = False
    show_warn: bool = False
    id: str = ""
    remember: Fraction = Fraction(0)

    def take(self, word: str, rest: list[str], command: str) -> None:
        """Take an option, whose value is at the beginning of the words behind it."""
        if word == "PEEK":
            self.peek = True
        elif word == "WARN" and command == "RL.CHECK":
            self.show_warn = True
        elif word == "AS":
            self.id = rest.pop(0)
        elif word == "FOR":
            self.remember = parse_duration(rest.pop(0))
        else:
            raise InvalidError(_lacks(f"{word} in {command}"))


class FakeServer:
    """Keeps limiters in memory.

    It has acquires (not FS, AD, HT), RL.ALL, RL.CHECK, RL.SETTLE, RL.CANCEL, RL.USAGE, RL.POLICY USAGE, RL.REFUND,
    CC.RELEASE and DEL.
    """

    def __init__(self, now: Callable[[], Fraction]) -> None:
        self._store = Store(now)
        self._reservations = Reservations(self._store)
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
                held = self._store.held(arguments[0])
                return None if held is None else self._usage(arguments[0], held)
            if name == "RL.POLICY" and arguments[0] == "USAGE":
                return self._policy_usage(*arguments[1:])
            if name == "RL.REFUND":
                return self._refund(arguments[0], int(arguments[1]))
            if name == "RL.SETTLE":
                return self._reservations.settle(*arguments)
            if name == "RL.CANCEL":
                return self._reservations.cancel(*arguments)
            if name == "CC.RELEASE":
                return self._release(*arguments)
            if name == "DEL":
                return int(self._store.delete(arguments[0]) | self._reservations.delete(arguments[0]))
        except InvalidError as error:
            return ServerError(f"ERR {error}")
        return ServerError(f"ERR {_lacks(name)}")

    def _acquire(self, spec: str, words: list[str]) -> Any:
        form = ALGORITHMS[spec].form
        count = 4 if form in ("gcra", "leases") else 3  # the key, and the limit's arguments
        rest = words[count:]
        n = int(rest.pop(0)) if rest and ALGORITHMS[spec].takes_tokens else 1
        limit = parse(" ".join((spec, *words[1:count], *_take_options(rest))))
        option = rest[0] if rest else ""
        d = self._store.ask(words[0], limit, n, option, rest[1] if option == "MAXWAIT" else "")
        if d.granted and option != "PEEK":
            self._store.keep(words[0], limit, d.state)
        remaining = d.remaining if option == "FORCE" else max(0, d.remaining)  # only FORCE shows a debt
        if form == "gcra":
            after = -1 if d.granted or d.wait == FOREVER else math.ceil(d.wait)
            return [0 if d.granted else 1, limit.tokens, remaining, after, math.ceil(d.reset)]
        return [
            d.granted,
            limit.tokens,
            remaining,
            milliseconds(d.wait),
            milliseconds(d.reset),
            *_warning(limit, remaining),
        ]

    def _all(self, words: list[str]) -> Any:
        rest, specs, asked = list(words), list[_AskedLimit](), _Asked(["RL.ALL", *words], show_warn=True)
        while rest:
            word = rest.pop(0)
            if word == "TOKENS":
                asked.tokens = int(rest.pop(0))
            elif word == "COST":
                specs[-1].cost = int(rest.pop(0))
            elif word in _KNOWN:
                count = 4 if _KNOWN[word].form in ("gcra", "leases") else 3
                key, *own = rest[:count]
                del rest[:count]
                specs.append(_AskedLimit(key, parse(" ".join((word, *own, *_take_options(rest))))))
            else:
                asked.take(word, rest, "RL.ALL")
        return self._once(specs, asked)

    def _check(self, words: list[str]) -> Any:
        at = words.index("WITH", 3) if "WITH" in words[3:] else len(words)
        rest, asked = words[3:at], _Asked(["RL.CHECK", *words], int(words[2]))
        while rest:
            asked.take(rest.pop(0), rest, "RL.CHECK")
        return self._once([_AskedLimit(*spec) for spec in self._limits(words[0], words[1], words[at + 1 :])], asked)

    def _limits(self, policy: str, caller: str, fields: list[str]) -> list[Spec]:
        """Return the limits of a policy for a caller, with their keys filled in."""
        if policy not in self._policies:
            raise InvalidError(f"no such policy '{policy}'; store it with set_policy")
        if not caller:
            raise InvalidError("id: the caller's id must not be empty")
        for name, value in zip(fields[::2], fields[1::2], strict=True):
            if not value:
                raise InvalidError(f"WITH: the value of the field '{name}' must not be empty")
        values = {"": caller, **dict(zip(fields[::2], fields[1::2], strict=True))}
        try:
            filled = [re.sub(r"\{([^{}]*)\}", lambda name: values[name[1]], key) for key, _ in self._policies[policy]]
        except KeyError as error:
            raise InvalidError(f"WITH: the policy needs the field {error}") from None
        return [(key, limit) for key, (_, limit) in zip(filled, self._policies[policy], strict=True)]

    def _policy_usage(self, policy: str, caller: str, *fields: str) -> list[list[Any]]:
        usages = []
        for key, limit in self._limits(policy, caller, list(fields[1:])):
            usages.append(
                [b"key", key.encode("utf-8", "surrogateescape"), *self._usage(key, self._store.held(key), limit)]
            )
        return usages

    def _usage(self, key: str, held: tuple[Limit, object] | None, unused: Limit | None = None) -> list[Any]:
        """Return the fields of the usage of a limiter. Nothing is lent."""
        limit = held[0] if held is not None else unused
        assert limit is not None
        remaining = limit.tokens if held is None else self._store.look(key, limit).remaining
        start = end = reserved = None
        closed: list[list[int]] = []
        if held is not None and isinstance(held[1], Window):
            w = present(limit, held[1], self._store.now())
            if w.taken or is_aligned(limit):
                start, end = milliseconds(w.start), milliseconds(w.end)
            reserved = min(w.reserved, w.taken) if history_of(limit) else None
            for past in w.closed:
                kept = min(past.reserved, past.taken)
                closed.append([milliseconds(past.start), milliseconds(past.end), past.taken - kept, kept])
        used = limit.tokens - remaining - (reserved or 0)
        names = (b"limit", b"used", b"reserved", b"lent", b"remaining")
        values = dict(zip(names, (limit.tokens, used, reserved, 0, remaining), strict=True))
        fields = {**values, b"start_ms": start, b"end_ms": end, b"history": closed}
        return [word for field in fields.items() for word in field]

    def _once(self, specs: list[_AskedLimit], asked: _Asked) -> Any:
        """Take tokens, unless the request has an id under which it was granted already."""
        if asked.peek and asked.id:
            raise InvalidError("PEEK: cannot be combined with AS")
        held = self._reservations.held(asked.id)
        if held is None:
            return self._several(specs, asked)
        if held.request != asked.words:
            raise InvalidError("AS: the id was used for a request with other parameters; nothing was taken")
        return [*held.answer, [self._state(part.key, part.limit, asked.show_warn) for part in held.parts]]

    def _several(self, specs: list[_AskedLimit], asked: _Asked) -> Any:
        costs = [asked.tokens if spec.cost is None else spec.cost for spec in specs]
        costs = [min(cost, 1) if is_place(spec.limit) else cost for spec, cost in zip(specs, costs, strict=True)]
        decisions = [
            self._store.ask(spec.key, spec.limit, cost) if cost else self._look(spec.key, spec.limit)
            for spec, cost in zip(specs, costs, strict=True)
        ]
        denied = [i for i, (d, cost) in enumerate(zip(decisions, costs, strict=True)) if cost and not d.granted]
        if denied:
            longest = max(denied, key=lambda i: math.inf if decisions[i].wait == FOREVER else decisions[i].wait)
            states = [self._state(spec.key, spec.limit, asked.show_warn) for spec in specs]
            return [0, longest, milliseconds(decisions[longest].wait), states]
        for spec, d in zip(specs, decisions, strict=True):
            if d.granted and not asked.peek:
                self._store.keep(spec.key, spec.limit, reserve(d.state, d.granted) if asked.id else d.state)
        answer = [asked.tokens, -1, milliseconds(max(d.wait for d in decisions))]
        if asked.id:
            self._remember(specs, decisions, asked, answer)
        states = [
            [s.limit.tokens, d.remaining, milliseconds(d.reset), *_warning(s.limit, d.remaining, asked.show_warn)]
            for s, d in zip(specs, decisions, strict=True)
        ]
        return [*answer, states]

    def _remember(self, specs: list[_AskedLimit], decisions: list[Decision], asked: _Asked, answer: list[int]) -> None:
        now = self._store.now()
        parts = [
            TakenLimit(s.key, s.limit, s.cost is not None, d.granted, mark_of(d.state, now))
            for s, d in zip(specs, decisions, strict=True)
        ]
        self._reservations.keep(asked.id, Reservation(asked.words, now + asked.remember, answer, parts))

    def _look(self, key: str, limit: Limit) -> Decision:
        """Return the state of a limit of which nothing is asked."""
        _, remaining, reset = self._state(key, limit, False)
        return Decision(0, remaining, Fraction(0), Fraction(reset, 1000), None)

    def _state(self, key: str, limit: Limit, show_warn: bool) -> list[int]:
        never = self._store.look(key, limit)
        remaining = max(0, never.remaining)
        return [limit.tokens, remaining, milliseconds(never.reset), *_warning(limit, remaining, show_warn)]

    def _refund(self, key: str, n: int) -> Any:
        held = self._store.held(key)
        if held is None:
            return None
        limit, state, now = *held, self._store.now()
        left = self._store.look(key, limit).remaining
        back = min(n, limit.tokens - left)
        if isinstance(state, Fraction):
            state = max(now, state - back * limit.period / limit.count)
        elif isinstance(state, Window):
            state = replace(state, taken=state.taken - back, reserved=min(state.reserved, state.taken - back))
        else:
            raise InvalidError(f"the fake server refunds buckets and fixed windows, not {limit}")
        self._store.keep(key, limit, state)
        return left + back

    def _release(self, key: str, holder: str) -> int:
        held = self._store.held(key)
        if held is None or not isinstance(held[1], dict) or held[1].get(holder, Fraction(0)) <= self._store.now():
            return 0
        rest = {h: end for h, end in held[1].items() if h != holder}
        self._store.keep(key, held[0], rest)
        return 1
