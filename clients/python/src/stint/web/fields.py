"""The RateLimit and RateLimit-Policy fields of draft-ietf-httpapi-ratelimit-headers-10 and -11."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, get_args

from ..keys import as_bytes
from ..limits import Limit
from ..results import NEVER, Result, Source

Fields = list[tuple[str, str]]


def whole_seconds(seconds: float) -> int:
    """Round up, so that a client that waits so long is not too early."""
    return max(0, math.ceil(round(seconds, 6)))


def quote(name: str) -> str:
    """Return a string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %."""
    allowed = "".join(chr(b) if 32 <= b <= 126 and b != 37 else f"%{b:02X}" for b in as_bytes(name))
    return '"' + re.sub(r'(["\\])', r"\\\1", allowed) + '"'


def more_after(limit: Limit, result: Result) -> float | None:
    """Return the seconds until another token comes back; None if that is not known."""
    is_denied = not result.allowed and result.retry_after != NEVER
    if result.source is Source.FALLBACK or (result.source is Source.LOCAL and not is_denied):
        return None
    if result.source is Source.LOCAL:
        return result.retry_after
    if limit.algorithm.spec == "FW":
        return result.reset_after
    if limit.algorithm.form in ("window", "leases"):
        return result.retry_after if is_denied else None
    missing = max(0, result.limit - result.remaining - 1)  # tokens that come back after the next
    rest = Fraction(missing) * limit.period / limit.count
    after = max(0.0, result.reset_after - float(rest))
    return min(after, result.retry_after) if is_denied else after


FieldStyle = Literal["draft-10", "draft-11", "draft-6", "x-ratelimit", "x-ratelimit-date"]
"""A set of fields.

"draft-10" and "draft-11" are RateLimit and RateLimit-Policy, "draft-6" is RateLimit-Limit, -Remaining and -Reset,
"x-ratelimit" the same with X- before, and "x-ratelimit-date" that with Reset as a Unix time.
"""


def as_styles(given: Iterable[FieldStyle]) -> frozenset[str]:
    """Return a set of styles, which may be empty. ValueError: another name, or two meanings of X-RateLimit-Reset."""
    chosen = frozenset(() if isinstance(given, str) else given)
    if (
        isinstance(given, str)
        or not chosen <= set(get_args(FieldStyle))
        or chosen >= {"x-ratelimit", "x-ratelimit-date"}
    ):
        names = ", ".join(get_args(FieldStyle))
        raise ValueError(f"fields must be a list of {names}, with x-ratelimit or x-ratelimit-date, got {given!r}")
    return chosen


def write_fields(
    styles: frozenset[str],
    name: str,
    quota: int,
    remaining: int,
    window: float | None,
    more: float | None,
    reset: float | None,
    now: float,
    warns: bool = False,
) -> Fields:
    """Return the fields of a limit. Times are in seconds; None is not known. warns: it has reached its threshold."""

    def parameter(key: str, seconds: float | None) -> str:
        return "" if seconds is None else f";{key}={whole_seconds(seconds)}"

    def three(prefix: str, since: int) -> Fields:
        all_of = [(prefix + "Limit", str(quota)), (prefix + "Remaining", str(left))]
        return all_of if reset is None else [*all_of, (prefix + "Reset", str(since + whole_seconds(reset)))]

    left = max(0, remaining)
    fields: Fields = []
    if styles & {"draft-10", "draft-11"}:
        fields.append(("RateLimit-Policy", f"{quote(name)};q={quota}{parameter('w', window)}"))
        warning = ";stint-warn" if warns else ""
        fields.append(("RateLimit", f"{quote(name)};r={left}{parameter('t', more)}{warning}"))
    if "draft-6" in styles:
        fields += three("RateLimit-", 0)
    if styles & {"x-ratelimit", "x-ratelimit-date"}:
        fields += three("X-RateLimit-", whole_seconds(now) if "x-ratelimit-date" in styles else 0)
    return fields


def announce(styles: frozenset[str], name: str, result: Result, window: float | None, more: float | None) -> Fields:
    """Return the fields of a response: none after the fallback's decision, which has no state of the limit."""
    if result.source is Source.FALLBACK:
        return []
    reset: float | None = result.reset_after
    if not result.allowed and result.retry_after == NEVER:  # 0 seconds would mean at once
        more = reset = None
    state = (result.limit, result.remaining, window, more, reset, time.time())
    return write_fields(styles, name, *state, warns=result.warn)


_ONE_SET = [  # no lists, unlike RateLimit
    f"{prefix}ratelimit-{end}" for prefix in ("", "x-") for end in ("limit", "remaining", "reset")
]


def merge(present: Fields, added: Fields, is_denial: bool) -> Fields:
    """Return the fields of a response with those of another limit, which allowed it.

    X-RateLimit and the fields of draft-6 are those of the limit that denied, or of the one with the smallest part left.
    """
    before, now = _part_left(present), _part_left(added)
    stays = before is not None and (is_denial or now is None or before <= now)
    kept = [field for field in present if stays or field[0].lower() not in _ONE_SET]
    return kept + [field for field in added if not stays or field[0].lower() not in _ONE_SET]


def _part_left(fields: Fields) -> float | None:
    """Return the part of a limit that is left, None if no fields for one limit tell it."""
    values = {name.lower(): value for name, value in fields}
    for prefix in ("x-ratelimit-", "ratelimit-"):
        try:
            return int(values[prefix + "remaining"]) / max(1, int(values[prefix + "limit"]))
        except (KeyError, ValueError):
            continue
    return None


RawFields = list[tuple[bytes, bytes]]


def merge_raw(present: Iterable[tuple[bytes, bytes]], added: Fields, is_denial: bool) -> RawFields:
    """Return what merge does, for the fields of ASGI."""
    before = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in present]
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in merge(before, added, is_denial)
    ]
