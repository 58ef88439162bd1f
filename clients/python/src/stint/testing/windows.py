"""Fixed windows of the fake server: those of the calendar in any time zone, and those that are over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import InvalidError
from ..limits import Limit

_DAY = 86400
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = {"@month": 1, "@quarter": 3, "@year": 12}  # of a window
# The longest that a window can be, in days; one has 25 hours.
_LONGEST = {"@day": 1, "@week": 7, "@month": 31, "@quarter": 92, "@year": 366}


@dataclass(frozen=True)
class Past:
    """A window that is over, in which something was taken. Times are in seconds."""

    start: Fraction
    end: Fraction
    taken: int
    reserved: int = 0


@dataclass(frozen=True)
class Window:
    """The state of a fixed window. The closed ones are those that are over, the newest first.

    reserved are the tokens, of those taken, of requests with an id that are not settled.
    """

    start: Fraction
    end: Fraction
    taken: int = 0
    has_warned: bool = False
    closed: tuple[Past, ...] = ()
    reserved: int = 0


def is_aligned(limit: Limit) -> bool:
    """Return whether the windows are those of the clock or of the calendar."""
    return limit.arguments[1].startswith("@")


def history_of(limit: Limit) -> int:
    """Return the number of closed windows that are kept."""
    return int(_options(limit).get("HISTORY", "0"))


def present(limit: Limit, state: object, now: Fraction) -> Window:
    """Return the window that holds a time, with the tokens taken in it."""
    start, end = _span(limit, now)
    if not isinstance(state, Window):
        return Window(start, end)
    window = state
    if window.end <= now:
        before = (Past(window.start, window.end, window.taken, window.reserved),) if window.taken else ()
        window = Window(start, end, closed=before + window.closed)
    elif not window.taken and not _is_kept(limit, window):
        window = replace(window, start=start, end=end)
    return replace(window, closed=window.closed[: history_of(limit)])


def counts(limit: Limit, window: Window, now: Fraction) -> bool:
    """Return whether a state differs from that of a new key."""
    if now < window.end and (window.taken > 0 or _is_kept(limit, window)):
        return True
    last = window.end if window.taken else window.closed[0].end if window.closed else Fraction(0)
    days = _LONGEST.get(limit.arguments[1].lower())
    longest = limit.period if days is None else Fraction(days * 25 * 3600)
    return now < last + history_of(limit) * longest if history_of(limit) else False


def _is_kept(limit: Limit, window: Window) -> bool:
    """Return whether a window counts although all tokens went back: one of the clock that has warned."""
    return window.has_warned and is_aligned(limit)


def _options(limit: Limit) -> dict[str, str]:
    return dict(zip(limit.anchor[::2], limit.anchor[1::2], strict=True))


def _span(limit: Limit, now: Fraction) -> tuple[Fraction, Fraction]:
    """Return the window that holds a time. One that begins with the first request begins then."""
    if limit.arguments[1].lower() in _LONGEST:
        return _calendar_span(limit, now)
    start = now // limit.period * limit.period if is_aligned(limit) else now
    return start, start + limit.period


def _calendar_span(limit: Limit, now: Fraction) -> tuple[Fraction, Fraction]:
    """Look among the windows around a time for the one that holds it."""
    options = _options(limit)
    zone = _zone(options.get("TZ", "UTC"))
    wall = datetime.fromtimestamp(int(now), zone).replace(tzinfo=timezone.utc)
    start = Fraction(0)
    for begin in _beginnings(limit.arguments[1].lower(), options.get("FROM", "").lower(), wall):
        at = Fraction(_instant(zone, int(begin.timestamp())))
        if at > now:
            return start, at
        start = at
    raise AssertionError("a window holds each time")


def _zone(name: str) -> ZoneInfo | timezone:
    if name.upper() == "UTC":
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        why = "install tzdata, or take a real server for this test"
        raise InvalidError(f"TZ: the fake server knows no zone {name!r}: {why}") from None


def _beginnings(window: str, start: str, wall: datetime) -> Iterator[datetime]:
    """Return the beginnings around a time of the clock. Times of the clock are in UTC."""
    day_text, clock = start, ""
    if window == "@day":
        clock = start
    elif ":" in start:
        at = start.lower().rindex("t")  # Tuesday has one too
        day_text, clock = start[:at], start[at + 1 :]
    hours, _, minutes = clock.partition(":")
    time_of_day = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    yield from (day + time_of_day for day in _days(window, day_text, wall))


def _days(window: str, start: str, wall: datetime) -> Iterator[datetime]:
    """Return the midnights before the beginnings."""
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    around = range(-2, 3)
    if window == "@day":
        yield from (midnight + timedelta(days=i) for i in around)
    elif window == "@week":
        since = (wall.weekday() - _WEEKDAYS.index(start or "monday")) % 7
        yield from (midnight + timedelta(days=7 * i - since) for i in around)
    else:
        month, _, day = (start or "1").rpartition("-")
        first, length = int(month or 1), _MONTHS[window]
        months = wall.year * 12 + wall.month - first  # since that of the year 0
        for i in around:
            begin = months - months % length + length * i + first - 1
            yield _date(begin, int(day))


def _date(months: int, day: int) -> datetime:
    """Return a day of a month, or its last. Months are counted from the year 0."""
    first = datetime(months // 12, months % 12 + 1, 1, tzinfo=timezone.utc)
    last = (datetime((months + 1) // 12, (months + 1) % 12 + 1, 1, tzinfo=timezone.utc) - timedelta(days=1)).day
    return first.replace(day=min(day, last))


def _instant(zone: ZoneInfo | timezone, wall: int) -> int:
    """Return the first second at which the clocks of a zone show a time or a later one."""

    def offset(at: int) -> int:
        difference = datetime.fromtimestamp(at, zone).utcoffset()
        return int(difference.total_seconds()) if difference is not None else 0

    low, high = wall - _DAY, wall + _DAY
    before, after = offset(low), offset(high)
    if before == after:
        return wall - before
    while high - low > 1:  # the clocks change at high
        middle = (low + high) // 2
        low, high = (low, middle) if offset(middle) != before else (middle, high)
    if wall - before < high:
        return wall - before
    return max(high, wall - after)  # the clocks may skip it
