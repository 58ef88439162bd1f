"""Limits: how many tokens may be taken, and how they come back."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from .checks import is_whole
from .errors import InvalidError
from .keys import short_key
from .rates import MAX_TOKENS, milliseconds, parse_duration, parse_rate

MAX_WEIGHT = 1000  # of a member of a fair share
MAX_SEGMENTS = 120  # of a sliding window


@dataclass(frozen=True)
class Algorithm:
    """A row of the table of algorithms."""

    spec: str  # its name in RL.ALL and in policies
    command: str
    form: str  # its arguments: "rate", "window", "gcra", "leases", "member", "adaptive", "balance" or "penalty"
    options: frozenset[str]
    reserves: bool = False  # MAXWAIT, or places in a queue
    takes_tokens: bool = True
    keeps: bool = True  # KEEP


_METER = frozenset({"PEEK", "UPTO", "FORCE", "MAXWAIT"})
_WINDOW = frozenset({"PEEK", "UPTO", "FORCE"})

# The one table of algorithms. Commands, text forms and checks are derived from it.
ALGORITHMS: dict[str, Algorithm] = {
    row.spec: row
    for row in (
        Algorithm("TB", "TB.ACQUIRE", "rate", _METER, reserves=True),
        Algorithm("LB", "LB.ACQUIRE", "rate", _METER, reserves=True),
        Algorithm("LQ", "LB.QUEUE", "rate", frozenset({"PEEK"}), reserves=True, keeps=False),
        Algorithm("CL", "CL.THROTTLE", "gcra", frozenset()),
        Algorithm("FW", "FW.ACQUIRE", "window", _WINDOW),
        Algorithm("SW", "SW.ACQUIRE", "window", _WINDOW),
        Algorithm("SL", "SL.ACQUIRE", "window", _WINDOW),
        Algorithm("CC", "CC.ACQUIRE", "leases", frozenset({"PEEK"}), takes_tokens=False, keeps=False),
        Algorithm("FS", "FS.ACQUIRE", "member", frozenset({"PEEK"}), keeps=False),
        Algorithm("AD", "AD.ACQUIRE", "adaptive", frozenset({"PEEK", "MAXWAIT"}), reserves=True, keeps=False),
        Algorithm("BAL", "BAL.ACQUIRE", "balance", _WINDOW, keeps=False),
        Algorithm("PENALTY", "PENALTY", "penalty", frozenset(), keeps=False),  # which is no command: see asks.acquire
    )
}

MAX_HISTORY = 36  # closed windows that the server keeps

# Calendar windows, with the seconds that each counts where its length is needed. Usually in UTC; weeks begin on Monday.
CALENDAR = {
    "@minute": 60,
    "@hour": 3600,
    "@day": 86400,
    "@week": 7 * 86400,
    "@month": 30 * 86400,
    "@quarter": 91 * 86400,
    "@year": 365 * 86400,
}


@dataclass(frozen=True)
class Limit:
    """A limit. Limits are values: compare, copy and share them. Make one with the functions of this module."""

    algorithm: Algorithm
    arguments: tuple[str, ...]  # behind the key, as they are sent
    tokens: int  # the largest number that can be taken at once
    count: Fraction  # tokens that come back in a period
    period: Fraction  # seconds
    holder: str = ""  # of a concurrency limit
    weight: int = 1  # of a member of a fair share
    anchor: tuple[str, ...] = ()  # TZ, FROM, HISTORY and ROLLOVER, SEGMENTS or DOUBLING, with their values
    threshold: int = 0  # percent: see warn()
    least: Fraction = Fraction(0)  # tokens that come back in a period at the lowest rate of an adaptive limit
    has_turns: bool = False  # see spread()

    def __str__(self) -> str:
        """Return the limit as RL.ALL takes it, without its key."""
        return " ".join((self.algorithm.spec, *self.arguments, *self.option_words))

    @property
    def option_words(self) -> tuple[str, ...]:
        """The words behind the tokens of the limit's command, and behind its arguments in RL.ALL."""
        return (*self.counted_words, "SPREAD") if self.has_turns else self.counted_words

    @property
    def counted_words(self) -> tuple[str, ...]:
        """The option words of commands that deny nobody."""
        if self.weight != 1:
            return ("WEIGHT", str(self.weight))
        return (*self.anchor, "WARN", f"{self.threshold}%") if self.threshold else self.anchor

    def warn(self, percent: int) -> Limit:
        """Return the limit with a threshold: once this percentage of it is used, answers have warn set.

        The server also publishes one message for each window and key.
        """
        if self.algorithm.spec not in _WARN:
            raise InvalidError(f"only {' '.join(_WARN)} warn, not {self}")
        if not is_whole(percent, 1, 100):
            raise InvalidError(f"warn: must be an integer between 1 and 100, such as 80 for 80%, got {percent!r}")
        return replace(self, threshold=percent)

    def spread(self) -> Limit:
        """Return the limit with turns for denied callers, who then do not come back together.

        retry_after is the time at which there are tokens for this caller, after all who were denied before.
        """
        if self.algorithm.spec not in _SPREAD:
            raise InvalidError(f"only {' '.join(_SPREAD)} have turns, not {self}")
        return replace(self, has_turns=True)

    @property
    def corrects(self) -> bool:
        """Whether at_most() can lower the limit."""
        return self.algorithm.keeps and not {"SEGMENTS", "ROLLOVER"} & set(self.anchor)

    @property
    def shared(self) -> Limit:
        """The limit of which local_share takes a part: all members or holders, an adaptive limit's lowest rate."""
        if self.algorithm.form in ("member", "leases"):
            return replace(self, arguments=self.arguments[:2], weight=1, holder="")
        return replace(self, count=self.least) if self.algorithm.form == "adaptive" else self

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

    def member(self, name: str | bytes, weight: int = 1) -> Limit:
        """Return the share of a member of a pool, whose tokens are those of this bucket, shared by weight.

        The key is that of the pool. Take the name from authentication: each name counts as a member.
        """
        if self.algorithm.spec != "TB":
            raise InvalidError(f"only a token bucket can be shared by members, not {self}")
        if not isinstance(name, (str, bytes)) or not name:
            raise InvalidError(f"member: needs a name, str or bytes, got {name!r}")
        if not is_whole(weight, 1, MAX_WEIGHT):
            raise InvalidError(f"weight: must be an integer between 1 and {MAX_WEIGHT}, got {weight!r}")
        text = short_key(name).decode("utf-8", "surrogateescape")
        words = (*self.arguments, text)
        return replace(self, algorithm=ALGORITHMS["FS"], arguments=words, weight=weight, threshold=0, has_turns=False)

    def adaptive(self, least: int) -> Limit:
        """Return a limit whose rate follows reports, from least tokens in the period of this bucket up to its rate."""
        if self.algorithm.spec != "TB":
            raise InvalidError(f"only a token bucket can follow reports, not {self}")
        rate = f"{_tokens(least, 'least')}/{milliseconds(self.period, 'period')}"
        return self._between(rate, Fraction(least))

    def _between(self, rate: str, least: Fraction) -> Limit:
        if least > self.count:
            raise InvalidError(f"the lowest rate must be at most the highest, {self.arguments[1]}, got {rate}")
        capacity, most = self.arguments
        words = (capacity, rate, most)
        return replace(self, algorithm=ALGORITHMS["AD"], arguments=words, least=least, threshold=0, has_turns=False)

    @property
    def fill_time(self) -> float:
        """The seconds until all tokens are back: a window's length, or the time in which an empty bucket fills up."""
        if self.algorithm.form == "window":
            return float(self.period)
        return float(self.tokens * self.period / self.count) if self.count else 0.0


_WARN = ("TB", "LB", "LQ", "FW", "SW", "SL", "CC")
_SPREAD = ("TB", "LB", "LQ", "FW")


def _tokens(n: int, name: str) -> int:
    if not is_whole(n, 1, MAX_TOKENS):
        raise InvalidError(f"{name}: must be an integer between 1 and {MAX_TOKENS}, got {n!r}")
    return n


def _duration(length: str | float, name: str) -> str:
    """Return a duration as it is sent. A number is seconds."""
    return length if isinstance(length, str) else milliseconds(length, name)


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
    if not is_whole(max_burst, 0, MAX_TOKENS - 1):
        raise InvalidError(f"max_burst: must be an integer between 0 and {MAX_TOKENS - 1}, got {max_burst!r}")
    arguments = (str(max_burst), str(_tokens(count, "count")), str(_tokens(seconds, "period")))
    return Limit(ALGORITHMS["CL"], arguments, max_burst + 1, Fraction(count), Fraction(seconds))


def window(n: int, length: str | float, *, tz: str = "", start: str = "", history: int = 0, rollover: int = 0) -> Limit:
    """A fixed window: n tokens in each.

    The length is one of the calendar ("@minute", "@hour", "@day", "@week", "@month", "@quarter", "@year"), "@15m" for
    windows counted from the Unix epoch, or seconds or "15m" for a window that starts with its first request.

    From a day on, windows of the calendar may be those of a time zone, such as tz="Europe/Berlin", and have another
    start: "6" or "13:40" is the time of a day, "sunday" the day of a week, "17" the day of a month, both also with a
    time, as in "17T06:00", and "04-06" the date of a year or of one of its quarters. A month without that day has it
    on its last.

    history is the number of closed windows, at most 36, that usage() shows. A request without it forgets them.

    rollover adds the tokens that the window before had left, at most this percentage of n. It is for windows that begin
    with "@". A request without it ends it.
    """
    text = _duration(length, "window")
    seconds = CALENDAR.get(text.lower()) or parse_duration(text.removeprefix("@"))
    limit = _window("FW", n, text, Fraction(seconds))
    options = _anchor(text.lower(), tz, start) if tz or start else ()
    if history != 0:
        if not is_whole(history, 1, MAX_HISTORY):
            raise InvalidError(f"history: must be an integer between 1 and {MAX_HISTORY}, got {history!r}")
        options += ("HISTORY", str(history))
    if rollover != 0:
        if not text.startswith("@") or not is_whole(rollover, 1, 100):
            raise InvalidError(
                f'rollover: must be a percentage from 1 to 100, for a window such as "@month", got {rollover!r}'
            )
        options += ("ROLLOVER", f"{rollover}%")
    return replace(limit, anchor=options)


def _anchor(window: str, tz: str, start: str) -> tuple[str, ...]:
    if window not in _STARTS:
        raise InvalidError(f"tz and start: the window must be one of {' '.join(_STARTS)}, got {window!r}")
    if tz and not re.fullmatch(r"[A-Za-z0-9_+/-]+", tz):
        raise InvalidError(f"tz: must be a time zone such as Europe/Berlin, got {tz!r}")
    if start and not re.fullmatch(_STARTS[window], start, re.ASCII | re.IGNORECASE):
        raise InvalidError(f"start: no beginning of {window}, got {start!r}")
    return (("TZ", tz) if tz else ()) + (("FROM", start) if start else ())


_DAY = r"0?[1-9]|[12]\d"
_DATE = rf"(0?[13578]|1[02])-({_DAY}|3[01])|(0?[469]|11)-({_DAY}|30)|0?2-({_DAY})"
_HOUR, _MINUTE = r"(0?\d|1\d|2[0-3])", r":[0-5]\d"
_STARTS = {
    "@day": rf"{_HOUR}({_MINUTE})?",
    "@week": rf"(monday|tuesday|wednesday|thursday|friday|saturday|sunday)(T{_HOUR}{_MINUTE})?",
    "@month": rf"(0?[1-9]|[12]\d|3[01])(T{_HOUR}{_MINUTE})?",
    "@quarter": _DATE,
    "@year": _DATE,
}


def sliding_window(n: int, length: str | float, *, segments: int = 0) -> Limit:
    """A sliding window estimated from two counters: about n tokens in any span of this length.

    With 2 to 120 segments, no window ever holds more than n, and tokens come back at most a segment late. A key is
    limited with or without segments, and never by both.
    """
    text = _duration(length, "window")
    limit = _window("SW", n, text, parse_duration(text))
    return limit if segments == 0 else replace(limit, anchor=_segments(segments))


def _segments(n: int) -> tuple[str, ...]:
    if not is_whole(n, 2, MAX_SEGMENTS):
        raise InvalidError(f"segments: must be an integer between 2 and {MAX_SEGMENTS}, got {n!r}")
    return ("SEGMENTS", str(n))


def sliding_log(n: int, length: str | float) -> Limit:
    """An exact sliding window: at most n tokens in any span of this length. The server bounds n."""
    text = _duration(length, "window")
    return _window("SL", n, text, parse_duration(text))


def _window(spec: str, n: int, text: str, seconds: Fraction) -> Limit:
    return Limit(ALGORITHMS[spec], (str(_tokens(n, "limit")), text), n, Fraction(n), seconds)


def concurrency(n: int, ttl: str | float, holder: str) -> Limit:
    """At most n holders at a time. One that does not release within ttl is dropped; the same holder again renews."""
    text = _duration(ttl, "ttl")
    seconds, name = parse_duration(text), holder_name(holder)
    return Limit(ALGORITHMS["CC"], (str(_tokens(n, "limit")), text, name), n, Fraction(n), seconds, name)


def balance() -> Limit:
    """Credits that were bought: only add_credits() adds them, and a denial has needs_payment.

    Among several limits it is the last. local_share has no share of it, and denies.
    """
    return Limit(ALGORITHMS["BAL"], (), 0, Fraction(0), Fraction(1))


def penalty(denials: int, window: str | float, ban: str | float, *, doubling: str | float = "") -> Limit:
    """A ban of callers who go on when they are denied.

    When the other limits of a call have denied so many requests within a window, it denies all of them until the ban
    ends. It takes no tokens. It is for all(), and its key is the caller's. With doubling, such as "1d", the ban of a
    caller who is soon banned again is twice as long each time, at most this long. local_share bans nobody.
    """
    span, length = _duration(window, "window"), _duration(ban, "ban")
    seconds, shortest = parse_duration(span), parse_duration(length)
    words = (str(_tokens(denials, "denials")), span, length)
    limit = Limit(ALGORITHMS["PENALTY"], words, denials, Fraction(denials), seconds)
    if doubling == "":
        return limit
    longest = _duration(doubling, "doubling")
    if parse_duration(longest) < shortest:
        raise InvalidError(f"doubling: must be no shorter than the ban, {length}, got {longest}")
    return replace(limit, anchor=("DOUBLING", longest))


def holder_name(holder: str) -> str:
    """Return the name of a holder, or refuse it."""
    if not isinstance(holder, str) or not holder:
        raise InvalidError(f'holder: needs a name, as str, such as "job-7", got {holder!r}')
    return holder


def parse(text: str) -> Limit:
    """Return the limit of a text: a rate such as "100/minute" or "10 per second", or a limit of RL.ALL without its key.

    A rate is a token bucket that holds as many tokens as come back in the period, at least one. Examples of the second
    form are "TB 20 10/s", "FW 1000 @day" and "SL 100 1m".
    """
    if not isinstance(text, str):
        raise InvalidError(f'a limit must be a Limit or text such as "100/minute", got {text!r}')
    words = text.split()
    if words and words[0].upper() in ALGORITHMS:
        return _parse_spec(text, words)
    count, period = parse_rate(text)
    return _bucket("TB", max(1, math.floor(count)), text, count, period)


def _parse_spec(text: str, words: list[str]) -> Limit:
    algorithm = ALGORITHMS[words[0].upper()]
    if words[-1].upper() == "SPREAD":
        return _parse_spec(text, words[:-1]).spread()
    if len(words) > 3 and words[-2].upper() == "WARN":
        return _parse_spec(text, words[:-2]).warn(_percentage("WARN", words[-1]))
    if algorithm.form == "member" and len(words) == 6 and words[4].upper() == "WEIGHT":
        return _bucket("TB", _integer(words[1]), words[2], *parse_rate(words[2])).member(words[3], _integer(words[5]))
    if algorithm.spec == "FW" and len(words) > 3:
        return _parse_anchor(text, words)
    if algorithm.spec == "SW" and len(words) == 5 and words[3].upper() == "SEGMENTS":
        return replace(_parse_spec(text, words[:3]), anchor=_segments(_integer(words[4])))
    if algorithm.form == "penalty" and len(words) == 6 and words[4].upper() == "DOUBLING":
        return penalty(_integer(words[1]), words[2], words[3], doubling=words[5])
    takes = {"rate": 3, "window": 3, "balance": 1}.get(algorithm.form, 4)
    if algorithm.form == "rate" and len(words) == 5 and words[3].lower() == "per":
        words = [*words[:2], " ".join(words[2:])]
    if len(words) != takes:
        raise InvalidError(f"{algorithm.spec} takes {takes - 1} words behind it, without the key, got {text!r}")
    if algorithm.form == "balance":
        return balance()
    if algorithm.form == "penalty":
        return penalty(_integer(words[1]), words[2], words[3])
    if algorithm.form == "leases":
        return concurrency(_integer(words[1]), words[2], words[3])
    if algorithm.form == "member":
        return _bucket("TB", _integer(words[1]), words[2], *parse_rate(words[2])).member(words[3])
    if algorithm.form == "adaptive":
        tokens, seconds = parse_rate(words[2])
        bucket = _bucket("TB", _integer(words[1]), words[3], *parse_rate(words[3]))
        return bucket._between(words[2], tokens * bucket.period / seconds)
    if algorithm.form == "gcra":
        return gcra(_integer(words[1]), _integer(words[2]), _integer(words[3]))
    if algorithm.spec == "FW":
        return window(_integer(words[1]), words[2])
    if algorithm.form == "window":
        return _window(algorithm.spec, _integer(words[1]), words[2], parse_duration(words[2]))
    return _bucket(algorithm.spec, _integer(words[1]), words[2], *parse_rate(words[2]))


def _parse_anchor(text: str, words: list[str]) -> Limit:
    options = dict(zip([word.upper() for word in words[3::2]], words[4::2], strict=False))
    if len(words) != 3 + 2 * len(options) or not options.keys() <= {"TZ", "FROM", "HISTORY", "ROLLOVER"}:
        takes = "a limit, a window, TZ with a zone, FROM with a beginning, HISTORY with a number and ROLLOVER"
        raise InvalidError(f"FW takes {takes}, got {text!r}")
    if "HISTORY" in options and _integer(options["HISTORY"]) == 0:
        raise InvalidError(f"history: must be at least 1, got {text!r}")
    kept = _integer(options.get("HISTORY", "0"))
    rolls = _percentage("ROLLOVER", options["ROLLOVER"]) if "ROLLOVER" in options else 0
    tz, start = options.get("TZ", ""), options.get("FROM", "")
    return window(_integer(words[1]), words[2], tz=tz, start=start, history=kept, rollover=rolls)


def _percentage(option: str, word: str) -> int:
    percent = _integer(word.removesuffix("%"))
    if not word.endswith("%") or percent == 0:
        raise InvalidError(f"{option}: must be a percentage such as 80%, got {word!r}")
    return percent


def _integer(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 13:
        raise InvalidError(f"must be an integer between 0 and {MAX_TOKENS}, got {word!r}")
    return int(word)
