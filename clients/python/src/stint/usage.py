"""What was used of a limit, now and in windows that are over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .results import integers, unknown


@dataclass(frozen=True, slots=True)
class ClosedWindow:
    """The usage in a window that is over, from start to end in Unix seconds."""

    start: float
    end: float
    used: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used of a limit. used, reserved, lent and remaining add up to limit, unless it is in debt."""

    limit: int
    used: int
    reserved: int  # charged to requests with an id that were not settled; 0 without history, where used has them too
    lent: int  # set aside for holders of leases, and not known to be used
    remaining: int  # below zero while in debt
    start: float | None  # of the open window, in Unix seconds; None if there is none, or the next request begins it
    end: float | None
    history: tuple[ClosedWindow, ...]  # in which anything was used, the newest first
    key: str = ""  # of the limit, from policy_usage() alone


def parse_usage(reply: Any) -> Usage | None:
    """Read the reply of RL.USAGE: names and values by turns, or None for a key that is not known."""
    if reply is None:
        return None
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    if not isinstance(reply, dict) or not isinstance(reply.get(b"history"), list):
        raise unknown(reply)
    limit, used, lent, remaining = integers([reply.get(name) for name in (b"limit", b"used", b"lent", b"remaining")], 4)
    reserved, start, end = (reply.get(name) for name in (b"reserved", b"start_ms", b"end_ms"))
    closed = (integers(window, 4) for window in reply[b"history"])
    history = tuple(ClosedWindow(first / 1000, last / 1000, taken, held) for first, last, taken, held in closed)
    key = reply.get(b"key", b"").decode("utf-8", "surrogateescape")
    return Usage(limit, used, reserved or 0, lent, remaining, _seconds(start), _seconds(end), history, key)


def parse_usages(reply: Any) -> list[Usage]:
    """Read the reply of RL.POLICY USAGE."""
    if not isinstance(reply, list):
        raise unknown(reply)
    usages = [parse_usage(one) for one in reply]
    if None in usages:
        raise unknown(reply)
    return [usage for usage in usages if usage is not None]


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
