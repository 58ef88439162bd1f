"""Reports on a backend, to adaptive limits, and the members of fair shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .asks import Ask, Key, command
from .checks import is_number, is_whole
from .errors import InvalidError
from .keys import short_key
from .rates import MAX_SECONDS, milliseconds
from .results import integers, seconds, unknown
from .wire import Argument

MAX_REPORTED = 10**18


@dataclass(frozen=True, slots=True)
class Pace:
    """The state of an adaptive limit: its rate in tokens a second, and the seconds of its pause that are left."""

    per_second: float
    pause: float


@dataclass(frozen=True, slots=True)
class Member:
    """An active member of a fair share. taken are the tokens that the refill has not given back to it yet."""

    name: str
    weight: int
    taken: int


@dataclass(frozen=True)
class ReportOptions:
    """How reports move the rate. The server has a default for each.

    Once in every seconds (1), the rate falls to down percent of itself (80) after bad calls, or rises by up percent of
    its highest (5). Percentages have at most three decimals.
    """

    every: float | None = None
    down: float | None = None
    up: float | None = None

    def __post_init__(self) -> None:
        """Refuse options that the server refuses."""
        self.words()

    def words(self) -> list[Argument]:
        """Return the options of the command."""
        words: list[Argument] = []
        if self.every is not None:
            words += ["EVERY", milliseconds(self.every, "every")]
        if self.down is not None:
            words += ["DOWN", _percent("down", self.down, 99_999)]
        if self.up is not None:
            words += ["UP", _percent("up", self.up, 100_000)]
        return words


def _percent(name: str, percent: float, most: int) -> str:
    thousandths = round(percent * 1000) if is_number(percent) and math.isfinite(percent) else 0
    if not 0 < thousandths <= most:
        raise InvalidError(f"{name}: must be a percentage above 0 and at most {most / 1000}, got {percent!r}")
    return f"{thousandths / 1000:.3f}".rstrip("0").rstrip(".") + "%"


def _calls(name: str, n: int) -> int:
    if not is_whole(n, 0, MAX_REPORTED):
        raise InvalidError(f"{name}: must be an integer between 0 and {MAX_REPORTED}, got {n!r}")
    return n


DEFAULT_REPORT = ReportOptions()


def ask_report(key: Key, good: int, bad: int, pause: float, options: ReportOptions) -> Ask:
    """Report calls. The server counts a report once, even if it is sent twice."""
    if not isinstance(options, ReportOptions):
        raise InvalidError(f"options: must be ReportOptions(…), got {options!r}")
    words: list[Argument] = ["AD.REPORT", short_key(key), _calls("good", good), _calls("bad", bad), *options.words()]
    if not is_number(pause) or not 0 <= pause <= MAX_SECONDS:
        raise InvalidError(f"pause: must be between 0 and {int(MAX_SECONDS)} seconds, got {pause!r}")
    if pause > 0:
        words += ["PAUSE", milliseconds(Fraction(math.ceil(Fraction(repr(pause)) * 1000), 1000), "pause")]
    return command(*words, repeats=True)


def parse_pace(reply: Any) -> Pace | None:
    """Read the reply of AD.REPORT: None for a key without a limiter."""
    if reply is None:
        return None
    if not isinstance(reply, list) or len(reply) != 2 or not isinstance(reply[0], bytes):
        raise unknown(reply)
    try:
        rate = float(reply[0])
    except ValueError:
        raise unknown(reply) from None
    return Pace(rate, seconds(integers(reply[1:], 1)[0]))


def parse_members(reply: Any) -> list[Member]:
    """Read the reply of FS.MEMBERS."""
    if not isinstance(reply, list):
        raise unknown(reply)
    members = []
    for item in reply:
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[0], bytes):
            raise unknown(reply)
        weight, taken = integers(item[1:], 2)
        members.append(Member(item[0].decode("utf-8", "surrogateescape"), weight, taken))
    return members
