"""A server in memory that carries out some of the commands of this package."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import InvalidError, ServerError
from ..limits import ALGORITHMS, Limit, parse
from .states import FOREVER, Decision
from .store import Store

_KNOWN = {spec: ALGORITHMS[spec] for spec in ("TB", "FW", "CC")}
_BY_COMMAND = {row.command: row for row in _KNOWN.values()}
Spec = tuple[str, Limit]


def _lacks(what: str) -> InvalidError:
    return InvalidError(
        f"the fake server has no {what}: it knows token buckets, fixed windows without options, concurrency limits,"
        " and policies of them; run this test on a real server, with stint.testing.StintServer"
    )


def _words_of(spec: str) -> int:
    """Return the number of words of a limit, with its key."""
    return 4 if spec == "CC" else 3


@dataclass
class _AskedLimit:
    """One of several limits. Without a cost it is asked for the tokens of the request."""

    key: str
    limit: Limit
    cost: int | None = None


class FakeServer:
    """Keeps limiters in memory.

    It has TB.ACQUIRE, FW.ACQUIRE, CC.ACQUIRE, CC.RELEASE, RL.ALL, RL.CHECK, RL.REFUND and DEL.
    """

    def __init__(self, now: Callable[[], Fraction]) -> None:
        self._store = Store(now)
        self._policies: dict[str, list[Spec]] = {}

    def set_policy(self, name: str, *specs: tuple[str, str]) -> None:
        """Store a policy: pairs of a key with {} in it, and a limit as text."""
        self._policies[name] = [(key, parse(limit)) for key, limit in specs]

    def execute(self, words: list[str]) -> Any:
        """Carry out a command and return its reply; an error reply is a ServerError."""
        try:
            return self._execute(words[0], words[1:])
        except InvalidError as error:
            return ServerError(f"ERR {error}")

    def _execute(self, name: str, words: list[str]) -> Any:
        if name in _BY_COMMAND:
            return self._acquire(_BY_COMMAND[name].spec, words)
        if name == "RL.ALL":
            return self._all(words)
        if name == "RL.CHECK":
            return self._check(words)
        if name == "RL.REFUND":
            return self._store.refund(words[0], int(words[1]))
        if name == "CC.RELEASE":
            return self._store.release(*words)
        if name == "DEL":
            return int(self._store.delete(words[0]))
        raise _lacks(name)

    def _acquire(self, spec: str, words: list[str]) -> Any:
        row, count = _KNOWN[spec], _words_of(spec)
        rest = words[count:]
        n = int(rest.pop(0)) if rest and row.takes_tokens else 1
        option = rest[0] if rest else ""
        if option and option not in row.options:
            raise _lacks(f"{option} in {row.command}")
        limit = parse(" ".join((spec, *words[1:count])))
        d = self._store.ask(words[0], limit, n, option, rest[1] if option == "MAXWAIT" else "")
        if d.granted and option != "PEEK":
            self._store.keep(words[0], limit, d.state)
        remaining = d.remaining if option == "FORCE" else max(0, d.remaining)  # only FORCE shows a debt
        return [d.granted, limit.tokens, remaining, _milliseconds(d.wait), _milliseconds(d.reset)]

    def _all(self, words: list[str]) -> Any:
        rest, specs, tokens, peek = list(words), list[_AskedLimit](), 1, False
        while rest:
            word = rest.pop(0)
            if word == "TOKENS":
                tokens = int(rest.pop(0))
            elif word == "COST":
                specs[-1].cost = int(rest.pop(0))
            elif word == "PEEK":
                peek = True
            elif word in _KNOWN:
                key, *own = rest[: _words_of(word)]
                del rest[: _words_of(word)]
                specs.append(_AskedLimit(key, parse(" ".join((word, *own)))))
            else:
                raise _lacks(f"{word} in RL.ALL")
        return self._several(specs, tokens, peek)

    def _check(self, words: list[str]) -> Any:
        at = words.index("WITH", 3) if "WITH" in words[3:] else len(words)
        options = [word for word in words[3:at] if word not in ("WARN", "SPLIT")]  # which no limit here shows
        if unknown := [word for word in options if word != "PEEK"]:
            raise _lacks(f"{unknown[0]} in RL.CHECK")
        limits = self._limits(words[0], words[1], words[at + 1 :])
        return self._several([_AskedLimit(*spec) for spec in limits], int(words[2]), "PEEK" in options)

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
        for _, limit in self._policies[policy]:
            if limit.algorithm.spec not in _KNOWN or limit.option_words:
                raise _lacks(f"limit {limit}")
        return [(key, limit) for key, (_, limit) in zip(filled, self._policies[policy], strict=True)]

    def _several(self, specs: Sequence[_AskedLimit], tokens: int, peek: bool) -> Any:
        costs = [tokens if spec.cost is None else spec.cost for spec in specs]
        costs = [min(cost, 1) if s.limit.algorithm.spec == "CC" else cost for s, cost in zip(specs, costs, strict=True)]
        decisions = [
            self._store.ask(spec.key, spec.limit, cost) if cost else self._look(spec)
            for spec, cost in zip(specs, costs, strict=True)
        ]
        denied = [i for i, (d, cost) in enumerate(zip(decisions, costs, strict=True)) if cost and not d.granted]
        if denied:
            longest = max(denied, key=lambda i: math.inf if decisions[i].wait == FOREVER else decisions[i].wait)
            states = [_state(spec.limit, self._look(spec)) for spec in specs]
            return [0, longest, _milliseconds(decisions[longest].wait), states]
        for spec, d in zip(specs, decisions, strict=True):
            if d.granted and not peek:
                self._store.keep(spec.key, spec.limit, d.state)
        states = [_state(spec.limit, d) for spec, d in zip(specs, decisions, strict=True)]
        return [tokens, -1, _milliseconds(max(d.wait for d in decisions)), states]

    def _look(self, spec: _AskedLimit) -> Decision:
        """Return the state of a limit of which nothing is taken."""
        present = self._store.look(spec.key, spec.limit)
        return Decision(0, max(0, present.remaining), Fraction(0), present.reset, None)


def _milliseconds(seconds: Fraction) -> int:
    """Return a time in replies: rounded up, and -1 for never."""
    return -1 if seconds == FOREVER else math.ceil(seconds * 1000)


def _state(limit: Limit, d: Decision) -> list[int]:
    return [limit.tokens, d.remaining, _milliseconds(d.reset)]
