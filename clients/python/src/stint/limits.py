"""Limits: how many tokens may be taken, and how they come back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .errors import InvalidError
from .rates import MAX_TOKENS, milliseconds, parse_duration, parse_rate


@dataclass(frozen=True)
class Algorithm:
    """A row of the table of algorithms."""

    spec: str  # its name in RL.ALL and in policies
    command: str
    form: str  # its arguments: "rate", "window", "gcra" or "leases"
    options: frozenset[str]
    reserves: bool = False  # MAXWAIT, or places in a queue
    takes_tokens: bool = True


_METER = frozenset({"PEEK", "UPTO", "FORCE", "MAXWAIT"})
_WINDOW = frozenset({"PEEK", "UPTO", "FORCE"})

# The one table of algorithms. Commands, text forms and checks are derived from it.
ALGORITHMS: dict[str, Algorithm] = {
    row.spec: row
    for row in (
        Algorithm("TB", "TB.ACQUIRE", "rate", _METER, reserves=True),
        Algorithm("LB", "LB.ACQUIRE", "rate", _METER, reserves=True),
        Algorithm("LQ", "LB.QUEUE", "rate", frozenset({"PEEK"}), reserves=True),
        Algorithm("CL", "CL.THROTTLE", "gcra", frozenset()),
        Algorithm("FW", "FW.ACQUIRE", "window", _WINDOW),
        Algorithm("SW", "SW.ACQUIRE", "window", _WINDOW),
        Algorithm("SL", "SL.ACQUIRE", "window", _WINDOW),
        Algorithm("CC", "CC.ACQUIRE", "leases", frozenset({"PEEK"}), takes_tokens=False),
    )
}

# Calendar windows, in UTC. Weeks begin on Monday; a month counts as 30 days where its length is needed.
CALENDAR = {"@minute": 60, "@hour": 3600, "@day": 86400, "@week": 7 * 86400, "@month": 30 * 86400}


@dataclass(frozen=True)
class Limit:
    """A limit. Limits are values: compare, copy and share them. Make one with the functions of this module."""

    algorithm: Algorithm
    arguments: tuple[str, ...]  # behind the key, as they are sent
    tokens: int  # the largest number that can be taken at once
    count: Fraction  # tokens that come back in a period
    period: Fraction  # seconds
    holder: str = ""  # of a concurrency limit

    def __str__(self) -> str:
        """Return the limit as RL.ALL takes it, without its key."""
        return " ".join((self.algorithm.spec, *self.arguments))

    def burst(self, capacity: int) -> Limit:
        """Return a token bucket with another capacity."""
        if self.algorithm.form != "rate":
            raise InvalidError(f"only buckets and queues have a capacity, not {self}")
        return _bucket(self.algorithm.spec, capacity, self.arguments[1], self.count, self.period)

    def queue(self, waiting: int) -> Limit:
        """Return a queue with the rate of this bucket: evenly spaced, with at most this number waiting."""
        if self.algorithm.form != "rate":
            raise InvalidError(f"only a rate can be a queue, not {self}")
        return _bucket("LQ", waiting, self.arguments[1], self.count, self.period)

    @property
    def fill_time(self) -> float:
        """The seconds until all tokens are back: a window's length, or the time in which an empty bucket fills up."""
        if self.algorithm.form == "window":
            return float(self.period)
        return float(self.tokens * self.period / self.count) if self.count else 0.0


def _tokens(n: int, name: str) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_TOKENS:
        raise InvalidError(f"{name}: must be an integer between 1 and {MAX_TOKENS}, got {n!r}")
    return n


def _bucket(spec: str, capacity: int, rate: str, count: Fraction, period: Fraction) -> Limit:
    tokens = _tokens(capacity, "capacity") + (1 if spec == "LQ" else 0)
    return Limit(ALGORITHMS[spec], (str(capacity), rate), tokens, count, period)


def per(n: int, seconds: float) -> Limit:
    """A token bucket that is refilled with n tokens in this time, and holds n, or those of burst()."""
    rate = f"{_tokens(n, 'tokens')}/{milliseconds(seconds, 'period')}"
    return _bucket("TB", n, rate, *parse_rate(rate))


def per_second(n: int) -> Limit:
    """A token bucket with n tokens a second."""
    return per(n, 1)


def per_minute(n: int) -> Limit:
    """A token bucket with n tokens a minute."""
    return per(n, 60)


def per_hour(n: int) -> Limit:
    """A token bucket with n tokens an hour."""
    return per(n, 3600)


def per_day(n: int) -> Limit:
    """A token bucket with n tokens in 24 hours. For n in each calendar day, take window(n, "@day")."""
    return per(n, 86400)


def gcra(max_burst: int, count: int, seconds: int) -> Limit:
    """The limit of CL.THROTTLE, for keys shared with programs written for redis-cell. Periods are whole seconds."""
    arguments = (str(max_burst), str(_tokens(count, "count")), str(_tokens(seconds, "period")))
    tokens = _tokens(max_burst + 1, "max_burst + 1")
    return Limit(ALGORITHMS["CL"], arguments, tokens, Fraction(count), Fraction(seconds))


def window(n: int, length: str | float) -> Limit:
    """A fixed window: n tokens in each.

    The length is one of the calendar ("@minute", "@hour", "@day", "@week", "@month"), "@15m" for windows counted from
    the Unix epoch, or seconds or "15m" for a window that starts with its first request.
    """
    text = length if isinstance(length, str) else milliseconds(length, "window")
    seconds = CALENDAR.get(text.lower()) or parse_duration(text.removeprefix("@"))
    return _window("FW", n, text, Fraction(seconds))


def sliding_window(n: int, length: str | float) -> Limit:
    """A sliding window estimated from two counters: about n tokens in any span of this length."""
    text = length if isinstance(length, str) else milliseconds(length, "window")
    return _window("SW", n, text, parse_duration(text))


def sliding_log(n: int, length: str | float) -> Limit:
    """An exact sliding window: at most n tokens in any span of this length. The server bounds n."""
    text = length if isinstance(length, str) else milliseconds(length, "window")
    return _window("SL", n, text, parse_duration(text))


def _window(spec: str, n: int, text: str, seconds: Fraction) -> Limit:
    return Limit(ALGORITHMS[spec], (str(_tokens(n, "limit")), text), n, Fraction(n), seconds)


def concurrency(n: int, ttl: str | float, holder: str) -> Limit:
    """At most n holders at a time. One that does not release within ttl is dropped; the same holder again renews."""
    text = ttl if isinstance(ttl, str) else milliseconds(ttl, "ttl")
    seconds = parse_duration(text)
    return Limit(ALGORITHMS["CC"], (str(_tokens(n, "limit")), text, holder), n, Fraction(n), seconds, holder)


def parse(text: str) -> Limit:
    """Return the limit of a text: a rate such as "100/minute" or "10 per second", or a limit of RL.ALL without its key.

    A rate is a token bucket that holds as many tokens as come back in the period, at least one. Examples of the second
    form are "TB 20 10/s", "FW 1000 @day" and "SL 100 1m".
    """
    words = text.split()
    if words and words[0].upper() in ALGORITHMS:
        return _parse_spec(text, words)
    count, period = parse_rate(text)
    return _bucket("TB", max(1, math.floor(count)), text, count, period)


def _parse_spec(text: str, words: list[str]) -> Limit:
    algorithm = ALGORITHMS[words[0].upper()]
    takes = {"rate": 3, "window": 3, "gcra": 4, "leases": 4}[algorithm.form]
    if algorithm.form == "rate" and len(words) == 5 and words[3].lower() == "per":
        words = [*words[:2], " ".join(words[2:])]
    if len(words) != takes:
        raise InvalidError(f"{algorithm.spec} takes {takes - 1} words behind it, without the key, got {text!r}")
    if algorithm.form == "leases":
        return concurrency(_integer(words[1]), words[2], words[3])
    if algorithm.form == "gcra":
        return gcra(_integer(words[1]), _integer(words[2]), _integer(words[3]))
    if algorithm.spec == "FW":
        return window(_integer(words[1]), words[2])
    if algorithm.form == "window":
        return _window(algorithm.spec, _integer(words[1]), words[2], parse_duration(words[2]))
    return _bucket(algorithm.spec, _integer(words[1]), words[2], *parse_rate(words[2]))


def _integer(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 13:
        raise InvalidError(f"must be an integer between 0 and {MAX_TOKENS}, got {word!r}")
    return int(word)
