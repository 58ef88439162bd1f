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

_KNOWN = {spec: ALGORITHMS[spec] for spec in ("TB", "FW", "SW", "CC", "BAL")}
_OPTIONS = {"FW": "ROLLOVER", "SW": "SEGMENTS"}
_BY_COMMAND = {row.command: row for row in _KNOWN.values()}
Spec = tuple[str, Limit]


def _lacks(what: str) -> InvalidError:
    return InvalidError(
        f"the fake server has no {what}: it knows token buckets, fixed windows without other options than ROLLOVER,"
        " sliding windows in SEGMENTS, concurrency limits, balances without EXPIRE, and policies of them;"
        " run this test on a real server, with stint.testing.StintServer"
    )


def _words_of(spec: str) -> int:
    """Return the number of words of a limit, with its key."""
    return {"CC": 4, "BAL": 1}.get(spec, 3)


def _read(spec: str, words: list[str], rest: list[str]) -> Limit:
    """Return the limit of its words without the key, and take its option off the rest."""
    if rest and rest[0] == _OPTIONS.get(spec):
        words = [*words, *rest[:2]]
        del rest[:2]
    limit = parse(" ".join((spec, *words)))
    if spec == "SW" and not limit.anchor:
        raise _lacks("SW without SEGMENTS")
    return limit


@dataclass
class _AskedLimit:
    """One of several limits. Without a cost it is asked for the tokens of the request."""

    key: str
    limit: Limit
    cost: int | None = None
    is_else: bool = False


class FakeServer:
    """Keeps limiters in memory.

    It has TB.ACQUIRE, FW.ACQUIRE, SW.ACQUIRE, CC.ACQUIRE, CC.RELEASE, BAL.ACQUIRE, BAL.ADD, BAL.INFO, RL.ALL, RL.CHECK,
    RL.REFUND and DEL.
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
        if name == "BAL.ADD":
            if len(words) > 4:
                raise _lacks("EXPIRE in BAL.ADD")
            return self._store.add_credits(words[0], int(words[1]), words[3])
        if name == "BAL.INFO":
            return self._store.credits(words[0])
        if name == "DEL":
            return int(self._store.delete(words[0]))
        raise _lacks(name)

    def _acquire(self, spec: str, words: list[str]) -> Any:
        row, count = _KNOWN[spec], _words_of(spec)
        rest = words[count:]
        n = int(rest.pop(0)) if rest and row.takes_tokens else 1
        limit = _read(spec, words[1:count], rest)
        option = rest[0] if rest else ""
        if option and option not in row.options:
            raise _lacks(f"{option} in {row.command}")
        d = self._store.ask(words[0], limit, n, option, rest[1] if option == "MAXWAIT" else "")
        if d.granted and option != "PEEK":
            self._store.keep(words[0], limit, d.state)
        remaining = d.remaining if option == "FORCE" else max(0, d.remaining)  # only FORCE shows a debt
        return [d.granted, d.limit, remaining, _milliseconds(d.wait), _milliseconds(d.reset)]

    def _all(self, words: list[str]) -> Any:
        rest, specs, tokens, seen = list(words), list[_AskedLimit](), 1, list[str]()
        while rest:
            word = rest.pop(0)
            if word == "TOKENS":
                tokens = int(rest.pop(0))
            elif word == "COST":
                specs[-1].cost = int(rest.pop(0))
            elif word in ("PEEK", "SPLIT", "ELSE"):
                seen.append(word)
            elif word in _KNOWN:
                key, *own = rest[: _words_of(word)]
                del rest[: _words_of(word)]
                specs.append(_AskedLimit(key, _read(word, own, rest), is_else="ELSE" in seen))
            else:
                raise _lacks(f"{word} in RL.ALL")
        return self._several(specs, tokens, seen)

    def _check(self, words: list[str]) -> Any:
        at = words.index("WITH", 3) if "WITH" in words[3:] else len(words)
        options = words[3:at]
        if unknown := [word for word in options if word not in ("WARN", "SPLIT", "PEEK")]:  # no limit here warns
            raise _lacks(f"{unknown[0]} in RL.CHECK")
        limits = self._limits(words[0], words[1], words[at + 1 :])
        return self._several([_AskedLimit(*spec) for spec in limits], int(words[2]), options)

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
            spec, options = limit.algorithm.spec, limit.option_words
            if spec not in _KNOWN or (options and (len(options) > 2 or options[0] != _OPTIONS.get(spec))):
                raise _lacks(f"limit {limit}")
            if spec == "SW" and not options:
                raise _lacks("SW without SEGMENTS")
        return [(key, limit) for key, (_, limit) in zip(filled, self._policies[policy], strict=True)]

    def _several(self, specs: Sequence[_AskedLimit], tokens: int, options: list[str]) -> Any:
        if any(spec.limit.algorithm.spec == "BAL" for spec in specs[:-1]):
            raise InvalidError("BAL: must be the last limit")
        costs = [tokens if spec.cost is None else spec.cost for spec in specs]
        costs = [min(cost, 1) if s.limit.algorithm.spec == "CC" else cost for s, cost in zip(specs, costs, strict=True)]
        if specs[-1].is_else:
            costs = self._divided(specs, costs, tokens)
        decisions = [
            self._store.ask(spec.key, spec.limit, cost) if cost else self._look(spec)
            for spec, cost in zip(specs, costs, strict=True)
        ]
        denied = [i for i, (d, cost) in enumerate(zip(decisions, costs, strict=True)) if cost and not d.granted]
        if denied:
            longest = max(denied, key=lambda i: _order(decisions[i].wait))
            if specs[longest].is_else:
                longest = self._bind_else(specs, decisions, tokens - max(0, decisions[longest].remaining))
            looks = [self._look(spec) for spec in specs]
            return [0, longest, _milliseconds(decisions[longest].wait), _states(specs, looks, options)]
        for spec, d in zip(specs, decisions, strict=True):
            if d.granted and "PEEK" not in options:
                self._store.keep(spec.key, spec.limit, d.state)
        return [tokens, -1, _milliseconds(max(d.wait for d in decisions)), _states(specs, decisions, options)]

    def _divided(self, specs: Sequence[_AskedLimit], costs: list[int], tokens: int) -> list[int]:
        """Return the costs if the limits before ELSE give what they can, and the balance the rest."""
        plan = [i for i, spec in enumerate(specs[:-1]) if _is_included(spec)]
        given = min([tokens, *(self._store.ask(specs[i].key, specs[i].limit, tokens, "UPTO").granted for i in plan)])
        return [*(given if i in plan else cost for i, cost in enumerate(costs[:-1])), tokens - given]

    def _bind_else(self, specs: Sequence[_AskedLimit], decisions: list[Decision], lacks: int) -> int:
        """Return the limit that takes longest to give what the balance lacks, the balance if one never can."""
        binding = last = len(specs) - 1
        for i, spec in enumerate(specs[:-1]):
            if _is_included(spec):
                decisions[i] = self._store.ask(spec.key, spec.limit, lacks)
                if decisions[i].wait == FOREVER:
                    return last
            if (
                spec.cost != 0
                and not decisions[i].granted
                and (binding == last or decisions[i].wait > decisions[binding].wait)
            ):
                binding = i
        return binding

    def _look(self, spec: _AskedLimit) -> Decision:
        """Return the state of a limit of which nothing is taken."""
        present = self._store.look(spec.key, spec.limit)
        return Decision(0, present.limit, max(0, present.remaining), Fraction(0), present.reset, None)


def _is_included(spec: _AskedLimit) -> bool:
    """Return whether a limit before ELSE gives what it can."""
    return spec.cost is None and spec.limit.algorithm.keeps


def _order(wait: Fraction) -> float:
    return math.inf if wait == FOREVER else float(wait)


def _milliseconds(seconds: Fraction) -> int:
    """Return a time in replies: rounded up, and -1 for never."""
    return -1 if seconds == FOREVER else math.ceil(seconds * 1000)


def _states(specs: Sequence[_AskedLimit], decisions: Sequence[Decision], options: list[str]) -> list[list[int]]:
    states = [[d.limit, d.remaining, _milliseconds(d.reset)] for d in decisions]
    if "SPLIT" in options and specs[-1].limit.algorithm.spec == "BAL":
        return [[*state, -1, d.granted] for state, d in zip(states, decisions, strict=True)]
    return states
