"""Durations and rates in the forms that people write and the server reads."""

from __future__ import annotations

import re
from fractions import Fraction

from .errors import InvalidError

# Units, in seconds, and their words. The words may be in the plural.
UNITS: tuple[tuple[str, Fraction, tuple[str, ...]], ...] = (
    ("ms", Fraction(1, 1000), ("millisecond",)),
    ("s", Fraction(1), ("sec", "second")),
    ("m", Fraction(60), ("min", "minute")),
    ("h", Fraction(3600), ("hour",)),
    ("d", Fraction(86400), ("day",)),
)

MAX_LENGTH = 1000  # characters of a number with its unit
MAX_TOKENS = 10**12
MIN_SECONDS = Fraction(1, 1000)
MAX_SECONDS = Fraction(10 * 365 * 86400)

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))?", re.ASCII)
_PER = re.compile(r" per ", re.IGNORECASE)


def _number(text: str) -> Fraction | None:
    """Return a number as programs print it, such as 1.5 or 1e-05; None if it is none."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    exponent = int(found[2] or 0)
    most = 2 * MAX_LENGTH  # beyond it the number is beyond every bound
    return Fraction(found[1]) * Fraction(10) ** max(-most, min(most, exponent))


def _unit_names() -> str:
    return ", ".join(f"{suffix} ({', '.join(words)})" for suffix, _, words in UNITS)


def _split_unit(text: str) -> tuple[str, Fraction | None]:
    number = re.match(r"(.*[0-9.])?", text, re.ASCII | re.DOTALL)
    assert number is not None
    end = number.end()
    suffix = text[end:].lower()
    if suffix == "":
        return text, Fraction(1)
    for name, seconds, words in UNITS:
        if suffix == name or suffix in words or suffix.removesuffix("s") in words:
            return text[:end], seconds
    return "", None


def parse_duration(text: str) -> Fraction:
    """Return the seconds of a duration such as 250ms, 10s, 1.5m, 1h or 7d; a bare number is seconds."""
    number, unit = _split_unit(text)
    value = _number(number) if len(text) <= MAX_LENGTH else None
    if unit is not None and value is not None:
        seconds = value * unit
        if MIN_SECONDS <= seconds <= MAX_SECONDS and (seconds * 10**9).denominator == 1:
            return seconds
    raise InvalidError(
        "a duration must be between 1ms and 10 years in whole nanoseconds, such as 250ms, 10s, 1.5m, 1h or 7d "
        f"(a bare number is seconds), got {text[:100]!r}"
    )


def parse_rate(text: str) -> tuple[Fraction, Fraction]:
    """Return the tokens and the seconds of a rate: N, N/period or "N per period"."""
    if "/" in text:
        number, _, period = text.partition("/")
    elif found := _PER.search(text):
        number, period = text[: found.start()], text[found.end() :]
    else:
        number, period = text, "s"
    count, unit = _split_unit(period)
    is_short = len(text) <= MAX_LENGTH
    tokens, times = (_number(number), _number(count or "1")) if is_short else (None, None)
    if not period or unit is None or tokens is None or times is None:
        raise InvalidError(
            "a rate must be such as 100, 0.035, 1000/60, 1000/m, 5/500ms or '10 per second'; "
            f"units: {_unit_names()}; got {text[:100]!r}"
        )
    seconds = times * unit
    in_bounds = 0 < tokens <= MAX_TOKENS and MIN_SECONDS <= seconds <= MAX_SECONDS
    if not in_bounds or tokens / seconds < 1 / MAX_SECONDS:
        raise InvalidError(
            "a rate must be above 0 and at most 1000000000000 tokens, per 1ms to 10 years, and not below 1 token in "
            f"10 years, got {text[:100]!r}"
        )
    return tokens, seconds


def milliseconds(seconds: float | Fraction, name: str) -> str:
    """Return a duration as the protocol takes it. It must be whole milliseconds; a float is taken as it is printed."""
    try:
        exact = seconds if isinstance(seconds, Fraction) else Fraction(repr(seconds))
    except ValueError:  # no number, or one without end
        exact = Fraction(0)
    ms = exact * 1000
    if ms.denominator != 1 or not MIN_SECONDS <= exact <= MAX_SECONDS:
        raise InvalidError(f"{name}: must be a whole number of milliseconds from 1 ms to 10 years, got {seconds!r} s")
    return f"{ms.numerator}ms"
