"""Balances: credits that are bought, and what is left of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .asks import Ask, Key, check_tokens, command
from .checks import is_whole
from .errors import InvalidError
from .keys import short_key
from .results import integers, unknown
from .wire import Argument


@dataclass(frozen=True, slots=True)
class Credit:
    """What is left of the credits that expire at one time, in Unix seconds; None if they never do."""

    left: int
    expires: int | None


@dataclass(frozen=True, slots=True)
class Credits:
    """The credits of a balance, which is below zero while it is in debt. grants are spent in their order."""

    balance: int
    grants: tuple[Credit, ...]


def ask_add(key: Key, credits: int, payment: Key, expires: int | None) -> Ask:
    """Add credits. The server adds those of a payment once, even if they are sent twice."""
    if not payment:
        raise InvalidError(f"payment: needs the id of the payment, such as 'payment:81', got {payment!r}")
    words: list[Argument] = ["BAL.ADD", short_key(key), check_tokens(credits), "AS", short_key(payment)]
    if expires is not None:
        if not is_whole(expires, 1, 2**33):
            raise InvalidError(f"expires: must be whole Unix seconds, got {expires!r}")
        words += ["EXPIRE", expires]
    return command(*words, repeats=True)


def parse_credits(reply: Any) -> Credits | None:
    """Read the reply of BAL.INFO: names and values by turns, or None for a key without a balance."""
    if reply is None:
        return None
    fields = dict(zip(reply[::2], reply[1::2], strict=False)) if isinstance(reply, list) else reply
    if not isinstance(fields, dict) or not isinstance(fields.get(b"grants"), list):
        raise unknown(reply)
    return Credits(integers([fields.get(b"balance")], 1)[0], tuple(map(_credit, fields[b"grants"])))


def _credit(reply: Any) -> Credit:
    if isinstance(reply, list) and len(reply) == 2 and reply[1] is None:
        return Credit(integers(reply[:1], 1)[0], None)
    return Credit(*integers(reply, 2))
