"""Requests as the commands of the server."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from .checks import is_number, is_whole
from .errors import InvalidError
from .keys import short_key
from .limits import Limit, parse
from .rates import MAX_SECONDS, MAX_TOKENS, milliseconds
from .wire import Argument, encode

Key = str | bytes

ANONYMOUS = "anonymous"
"""The caller, or the field, of a policy that is "", which policies refuse. It is the same in all languages."""


def as_limit(limit: Limit | str) -> Limit:
    """Return a limit that may have been given as text."""
    return limit if isinstance(limit, Limit) else parse(limit)


def check_tokens(n: int) -> int:
    """Refuse a number of tokens that the protocol cannot express."""
    if not is_whole(n, 1, MAX_TOKENS):
        raise InvalidError(f"the number of tokens must be an integer between 1 and {MAX_TOKENS}, got {n!r}")
    return n


@dataclass(frozen=True)
class Keyed:
    """A limit and the key it is for, with its own amount and the part that is left to others. Make one with on()."""

    key: Key
    limit: Limit
    cost: int | None = None
    keep: int | str = ""
    or_else: bool = False

    def __post_init__(self) -> None:
        """Refuse amounts that the protocol cannot express."""
        if self.or_else and self.limit.algorithm.form != "balance":
            raise InvalidError(f"or_else is for a balance, got {self.limit}")
        if self.cost is not None and not is_whole(self.cost, 0, MAX_TOKENS):
            raise InvalidError(f"the cost must be an integer between 0 and {MAX_TOKENS}, got {self.cost!r}")
        object.__setattr__(self, "keep", _keep(self.keep))

    def tokens(self, n: int) -> int:
        """Return the number asked of this limit by a call for n. What the limits before or_else lack is not known."""
        if self.or_else:
            return 0
        return n if self.cost is None else self.cost

    def words(self, keep: str) -> list[Argument]:
        """Return the limit as RL.ALL takes it. keep is for a limit without its own."""
        limit = self.limit
        words: list[Argument] = ["ELSE"] if self.or_else else []
        words += [limit.algorithm.spec, short_key(self.key), *limit.arguments, *limit.option_words]
        if self.cost is not None:
            words += ["COST", self.cost]
        part = str(self.keep) or (keep if limit.algorithm.keeps else "")
        return [*words, "KEEP", part] if part else words


def on(key: Key, limit: Limit | str, *, cost: int | None = None, keep: int | str = "", or_else: bool = False) -> Keyed:
    """Return the limit on a key. keep is a number of tokens, or a share such as "10%", that is left to others.

    or_else makes the last limit, a balance(), give what the limits before it cannot give of the cost, or all of it.
    """
    return Keyed(key, as_limit(limit), cost, keep, or_else)


_PART = re.compile(r"[0-9]{1,12}|1000000000000|(?:[0-9]{1,2}(?:\.[0-9]{1,3})?|100(?:\.0{1,3})?)%", re.ASCII)


def _keep(keep: int | str) -> str:
    """Return the word of KEEP, "" for none, or refuse it."""
    is_part = isinstance(keep, str) and (keep == "" or _PART.fullmatch(keep) is not None)
    if is_part or is_whole(keep, 0, MAX_TOKENS):
        return str(keep)
    raise InvalidError(f'keep: must be a number of tokens, or a share such as "10%", got {keep!r}')


def _check_fields(fields: object) -> None:
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise InvalidError(f'fields: must be values by names, such as {{"tenant": "acme"}}, got {fields!r}')


def _with(fields: Mapping[str, Key]) -> list[Argument]:
    """Return the words of the fields of a policy."""
    words: list[Argument] = ["WITH"] if fields else []
    for name in sorted(fields):
        words += [name, short_key(fields[name])]
    return words


@dataclass(frozen=True)
class Request:
    """The tokens, conditions, fields and id of a request to several limits or to a policy.

    max_wait (seconds) reserves tokens that will be there within this time. fields are the values of {name} in the keys
    of a policy. With an id, the server remembers a grant for the time of remember (seconds): the same request again is
    answered alike and takes nothing, and settle() charges the true cost. show_warn has check() set LimitState.warn.
    split does so too, and has LimitState.granted set if the last limit is a balance().
    """

    tokens: int = 1
    keep: int | str = ""
    max_wait: float = 0.0
    fields: Mapping[str, Key] = field(default_factory=dict)
    id: Key = ""
    remember: float = 0.0
    show_warn: bool = False
    split: bool = False

    def __post_init__(self) -> None:
        """Refuse requests that the protocol cannot express."""
        check_tokens(self.tokens)
        if not is_number(self.max_wait) or not 0 <= self.max_wait < math.inf:
            raise InvalidError(f"max_wait must be 0 or more seconds, got {self.max_wait!r}")
        _keep(self.keep)
        _check_fields(self.fields)
        if self.keep != "" and self.max_wait > 0:
            raise InvalidError("a request has a keep or a max_wait, not both")
        in_bounds = is_number(self.remember) and 0 <= self.remember < math.inf
        if not in_bounds or (not self.id) != (self.remember == 0):
            raise InvalidError(
                f"a request has an id and a time above 0 to remember it, or neither; got {self.id!r}, {self.remember!r}"
            )

    def options(self) -> list[Argument]:
        """Return the options that follow the tokens, except KEEP."""
        words: list[Argument] = []
        if self.max_wait:
            words += ["MAXWAIT", wait_ms(self.max_wait)]
        if self.id:
            words += ["AS", short_key(self.id), "FOR", _remembered(self.remember)]
        return [*words, "SPLIT"] if self.split else words


def _remembered(seconds: float) -> str:
    """Return the time for which a grant can be settled, rounded up to milliseconds."""
    return milliseconds(Fraction(math.ceil(Fraction(repr(seconds)) * 1000), 1000), "remember")


def wait_ms(seconds: float) -> str:
    """Return a longest wait, rounded down to milliseconds, but at least one."""
    return f"{max(1, math.floor(min(seconds, int(MAX_SECONDS)) * 1000))}ms"


@dataclass(frozen=True)
class Ask:
    """A command that is ready to be sent, and the data for a fallback's decision."""

    packed: bytes
    operation: str
    key: bytes
    tokens: int
    limits: Sequence[tuple[bytes, Limit, int]]
    option: str = ""
    repeats: bool = False  # the server carries it out once, however often it is sent


def acquire(operation: str, key: Key, limit: Limit | str, n: int, option: str = "", max_wait: float = 0.0) -> Ask:
    """Ask for n tokens of one limit."""
    chosen, name = as_limit(limit), short_key(key)
    algorithm = chosen.algorithm
    if algorithm.form == "penalty":
        raise InvalidError("PENALTY is one of several limits: use it in all, beside those whose denials it counts")
    if option and option not in algorithm.options:
        raise InvalidError(f"{algorithm.command} has no option {option}, got {chosen}")
    arguments: list[Argument] = [algorithm.command, name, *chosen.arguments]
    if algorithm.takes_tokens:
        arguments.append(check_tokens(n))
    elif n != 1:
        raise InvalidError(f"{algorithm.command} asks for one place, not {n}")
    arguments += chosen.option_words
    if option:
        arguments.append(option)
    if option == "MAXWAIT":
        arguments.append(wait_ms(max_wait))
    return Ask(encode(arguments), operation, name, n, ((name, chosen, n),), option)


def place(key: Key, limit: Limit, max_wait: float, priority: int | None) -> Ask:
    """Ask for a place, and wait for it on the server."""
    name = short_key(key)
    words: list[Argument] = [limit.algorithm.command, name, *limit.arguments, *limit.option_words]
    words += ["BLOCK", wait_ms(max_wait)]
    if priority is not None:
        words += ["PRIORITY", priority]
    return Ask(encode(words), "wait", name, 1, ((name, limit, 1),))


def at_most(key: Key, limit: Limit | str, n: int) -> Ask:
    """Leave at most n tokens of a limit."""
    chosen = as_limit(limit)
    if not chosen.corrects:
        raise InvalidError(f"at_most needs a bucket or a window without segments and rollover, got {chosen}")
    if not is_whole(n, 0, MAX_TOKENS):
        raise InvalidError(f"the tokens that are left must be an integer between 0 and {MAX_TOKENS}, got {n!r}")
    return command("RL.ATMOST", short_key(key), chosen.algorithm.spec, *chosen.arguments, n, *chosen.counted_words)


def everything(keyed: Iterable[Keyed], request: Request, peek: bool) -> Ask:
    """Ask for several limits, all or nothing."""
    limits = list(keyed)
    if not limits:
        raise InvalidError("all needs a limit")
    for k in limits:
        if not isinstance(k, Keyed):
            raise InvalidError(f'all takes limits one by one, each made with on("user:7", "100/minute"), got {k!r}')
    if request.fields:
        raise InvalidError("fields are for the keys of a policy, not for all")
    arguments: list[Argument] = ["RL.ALL"]
    for k in limits:
        arguments += k.words(str(request.keep))
    arguments += ["TOKENS", request.tokens, *request.options()]
    if peek:
        arguments.append("PEEK")
    asks = [(short_key(k.key), k.limit, k.tokens(request.tokens)) for k in limits]
    name = b" ".join(key for key, _, _ in asks)
    return Ask(encode(arguments), "all", name, request.tokens, asks, "PEEK" if peek else "", bool(request.id))


def check(policy: str, caller: Key, request: Request, assumed: Sequence[Limit], peek: bool) -> Ask:
    """Ask for the limits of a policy that is stored on the server."""
    name = short_key(caller)
    arguments: list[Argument] = ["RL.CHECK", policy, name, request.tokens]
    if request.keep != "":
        arguments += ["KEEP", str(request.keep)]
    arguments += request.options()
    if request.show_warn:
        arguments.append("WARN")
    if peek:
        arguments.append("PEEK")
    arguments += _with(request.fields)
    for field_name in sorted(request.fields):
        value = short_key(request.fields[field_name])
        name += b":%d:%b" % (len(value), field_name.encode() + b"=" + value)
    asks = [(b"%d:%b:%b" % (i, policy.encode(), name), limit, request.tokens) for i, limit in enumerate(assumed)]
    return Ask(
        encode(arguments), "check", policy.encode(), request.tokens, asks, "PEEK" if peek else "", bool(request.id)
    )


def command(*arguments: Argument, repeats: bool = False) -> Ask:
    """Ask for something that no policy can answer."""
    return Ask(encode(list(arguments)), str(arguments[0]), b"", 0, (), repeats=repeats)


def policy_usage(policy: str, caller: Key, fields: Mapping[str, Key]) -> Ask:
    """Ask for the usage of the limits of a policy."""
    if not isinstance(policy, str):
        raise InvalidError(f"policy: must be the name of a policy, as str, got {policy!r}")
    _check_fields(fields)
    return command("RL.POLICY", "USAGE", policy, short_key(caller), *_with(fields), repeats=True)


def settle(identity: Key, tokens: int | None, costs: Sequence[int | None] | None) -> Ask:
    """Charge the true cost of a request. None among the costs leaves a limit's charge as it is."""
    if (tokens is None) == (costs is None):
        raise InvalidError("settle takes a number of tokens or costs")
    words: list[Argument] = ["RL.SETTLE", short_key(identity)]
    if costs is not None:
        if not isinstance(costs, Iterable):
            raise InvalidError(f"costs: must be a list of numbers, or of None to keep a charge, got {costs!r}")
        words += ["COSTS", *("-" if cost is None else _amount(cost) for cost in costs)]
    elif tokens is not None:
        words.append(_amount(tokens))
    return command(*words, repeats=True)


def cancel(identity: Key) -> Ask:
    """Give back all that a request took."""
    return command("RL.CANCEL", short_key(identity), repeats=True)


def extend(
    identity: Key,
    number: int,
    tokens: int,
    up_to: bool,
    remember: float,
    limits: Iterable[tuple[bytes, Limit]] = (),
    split: bool = False,
) -> Ask:
    """Take more tokens of the limits of a request. limits are those that a local share decides by."""
    if not is_whole(number, 1, MAX_TOKENS):
        raise InvalidError(f"the number of an extension must be an integer above 0, got {number!r}")
    name = short_key(identity)
    words: list[Argument] = ["RL.EXTEND", name, number, check_tokens(tokens)]
    if up_to:
        words.append("UPTO")
    if remember:
        words += ["FOR", _remembered(remember)]
    if split:
        words.append("SPLIT")
    asked = [(key, limit, tokens) for key, limit in limits]
    return Ask(encode(words), "extend", name, tokens, asked, repeats=True)


def _amount(n: int) -> int:
    if not is_whole(n, 0, MAX_TOKENS):
        raise InvalidError(f"the true cost must be an integer between 0 and {MAX_TOKENS}, got {n!r}")
    return n
