"""Limits that have names, and denials in words that people and models can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..asks import Keyed
from ..errors import InvalidError
from ..results import NEVER, MultiResult, Source
from ..web.fields import whole_seconds

Limits = Mapping[str, Keyed]
"""Limits that are asked at one instant, all or nothing, by the names that a denial gives them."""


@dataclass(frozen=True)
class Denial:
    """A denial in words, and as fields. retry_after_seconds is None if the same request will never be granted."""

    message: str
    limit: str | None
    retry_after_seconds: int | None
    remaining: int | None
    capacity: int | None

    @property
    def is_counted(self) -> bool:
        """Whether a limit denied, and not the policy for a server that does not answer."""
        return self.limit is not None


def checked(limits: object) -> Limits:
    """Refuse what is not limits by names."""
    if not isinstance(limits, Mapping) or not limits or not all(isinstance(k, Keyed) for k in limits.values()):
        raise InvalidError(f'limits must return {{"calls": stint.on("user:7", "100/minute")}}, got {limits!r}')
    return limits


def denial(what: str, names: list[str], result: MultiResult) -> Denial:
    """Describe the denial of what, such as "The call of the tool search"."""
    if result.source is Source.FALLBACK or not 0 <= result.binding < len(result.limits):
        after = max(1, whole_seconds(result.retry_after))
        message = f"{what} cannot be counted at present. Try again in {in_words(after)}."
        return Denial(message, None, after, None, None)
    name, state = names[result.binding], result.limits[result.binding]
    if result.needs_payment:
        message = f'{what} needs more credits than "{name}" has, {state.remaining}. Waiting does not help.'
        return Denial(message, name, None, state.remaining, state.limit)
    if result.retry_after == NEVER:
        message = f'{what} asks for more than the limit "{name}" ever grants, {state.limit}. Do not repeat it as it is.'
        return Denial(message, name, None, state.remaining, state.limit)
    after = max(1, whole_seconds(result.retry_after))
    message = f'{what} was denied by the limit "{name}": {max(0, state.remaining)} of {state.limit} are left. '
    return Denial(f"{message}Try again in {in_words(after)}.", name, after, state.remaining, state.limit)


def in_words(seconds: int) -> str:
    """Return a time as people say it."""
    return "1 second" if seconds == 1 else f"{seconds} seconds"
