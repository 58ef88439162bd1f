"""What another service says about its limits in a response, so that limits that believe in more follow it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from ..aio import AsyncLimiter
from ..asks import Keyed
from ..limiter import Limiter

Field = Callable[[str], str | None]
"""Returns a field of a response by its name, None if it is absent, as headers.get of httpx and requests does."""


@dataclass(frozen=True, slots=True)
class ProviderLimit:
    """What a service says about one of its limits.

    unit is "requests", "tokens", "input-tokens", "output-tokens", or that of a RateLimit-Policy. reset_after are the
    seconds until there is more, or until all is back; limit and reset_after are None if the service does not say.
    """

    unit: str
    remaining: int
    limit: int | None = None
    reset_after: float | None = None


# The names of fields of services that have no RateLimit, by the unit of their limit. The first three mean the same as
# RateLimit, and count only without it.
_SETS = (
    ("requests", "RateLimit-{}"),
    ("requests", "X-RateLimit-{}"),
    ("requests", "X-Rate-Limit-{}"),
    ("requests", "X-RateLimit-{}-Requests"),
    ("tokens", "X-RateLimit-{}-Tokens"),
    ("requests", "Anthropic-RateLimit-Requests-{}"),
    ("tokens", "Anthropic-RateLimit-Tokens-{}"),
    ("input-tokens", "Anthropic-RateLimit-Input-Tokens-{}"),
    ("output-tokens", "Anthropic-RateLimit-Output-Tokens-{}"),
)
_OLDER = 3

_WHOLE = re.compile(r"[0-9]{1,15}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)
_PART = r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:ms|s|m|h)"
_DURATION = re.compile(f"(?:{_PART})+", re.ASCII)
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,9})?(?:[Zz]|([+-]\d\d:\d\d))", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ITEM = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])+')
_PARAMETER = re.compile(r';\s*([a-z]+)=("(?:[^"\\]|\\.)*"|[^;,"\s]+)')


def read_limits(field: Field, now: float | None = None) -> list[ProviderLimit]:
    """Read the limits of a service: from RateLimit, X-RateLimit and the fields of OpenAI and Anthropic."""
    at = time.time() if now is None else now
    policies = dict(_items(field("RateLimit-Policy")))
    found = []
    for name, state in _items(field("RateLimit")):
        remaining, reset = _whole(state.get("r")), _whole(state.get("t"))
        policy = policies.get(name, {})
        if remaining is not None:
            unit = policy.get("qu", "requests").strip('"')
            after = None if reset is None else float(reset)
            found.append(ProviderLimit(unit, remaining, _whole(policy.get("q")), after))
    for unit, template in _SETS[_OLDER if found else 0 :]:
        remaining = _whole(field(template.format("Remaining")))
        if remaining is not None:
            limit, reset_text = _whole(field(template.format("Limit"))), field(template.format("Reset"))
            found.append(ProviderLimit(unit, remaining, limit, _until((reset_text or "").strip(), at)))
    return found


def read_pause(status: int, field: Field, limits: list[ProviderLimit] | None = None, now: float | None = None) -> float:
    """Return the seconds for which a response asks its client to wait: by Retry-After, or a limit that is used up."""
    at = time.time() if now is None else now
    said = read_limits(field, at) if limits is None else limits
    pauses = [limit.reset_after for limit in said if limit.remaining == 0 and limit.reset_after is not None]
    if status in (429, 503):
        pauses.append(_retry_after(field("Retry-After"), at))
    return max(pauses, default=0.0)


def follow(limiter: Limiter, status: int, field: Field, limits: Mapping[str, Keyed]) -> float:
    """Lower limits to what a response says is left, and return the pause in seconds that it asks for.

    limits are by the units of the service's own: {"requests": stint.on("api", "60/minute")}.
    """
    said = read_limits(field)
    for one in said:
        if one.unit in limits:
            limiter.at_most(limits[one.unit].key, limits[one.unit].limit, one.remaining)
    return read_pause(status, field, said)


async def follow_async(limiter: AsyncLimiter, status: int, field: Field, limits: Mapping[str, Keyed]) -> float:
    """Do what follow does."""
    said = read_limits(field)
    for one in said:
        if one.unit in limits:
            await limiter.at_most(limits[one.unit].key, limits[one.unit].limit, one.remaining)
    return read_pause(status, field, said)


def _whole(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def _items(text: str | None) -> list[tuple[str, dict[str, str]]]:
    """Return the items of a list of structured fields with their parameters, as they were written."""
    found = []
    for item in _ITEM.findall(text or ""):
        name = re.match(r'\s*("(?:[^"\\]|\\.)*"|[^;]*)', item)
        assert name is not None
        found.append((name[1].strip(), dict(_PARAMETER.findall(item[name.end() :]))))
    return found


def _retry_after(text: str | None, now: float) -> float:
    """Return the seconds of a Retry-After, which is a number or a date; 0 if it is neither."""
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    return _date(text, now) or 0.0


def _until(text: str, now: float) -> float | None:
    """Return the seconds that are left, in the forms of services: seconds, a duration, a Unix time or a date."""
    if _SECONDS.fullmatch(text):
        seconds = float(text)
        return max(0.0, seconds - now) if seconds > 1e9 else seconds  # no wait takes thirty years
    if _DURATION.fullmatch(text):
        parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    parts_of_date = _RFC_3339.fullmatch(text)
    if parts_of_date is None:
        return _date(text, now)
    day, clock, fraction, zone = parts_of_date.groups()
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{zone or '+00:00'}").timestamp()
    except ValueError:
        return None
    return max(0.0, whole + float(fraction or 0) - now)


def _date(text: str, now: float) -> float | None:
    """Return the seconds until a date of HTTP; None if it is none."""
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, date.timestamp() - now)
