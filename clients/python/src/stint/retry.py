"""When a command with an id is sent again."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .errors import CircuitOpenError, OverloadedError, ReplyClass, ServerError, StintError, UnavailableError, class_of

FIRST_PAUSE = 0.002  # seconds; each pause is twice the one before
MAX_PAUSE = 0.1


def pauses() -> Iterator[float]:
    """Return the pauses before the repetitions, each with a random part."""
    pause = FIRST_PAUSE
    while True:
        yield pause * (0.5 + random.random())
        pause = min(2 * pause, MAX_PAUSE)


def may_pass(error: StintError) -> bool:
    """Return whether another attempt may not meet this failure."""
    if not isinstance(error, UnavailableError) or isinstance(error, (CircuitOpenError, OverloadedError)):
        return False
    reply = error.__cause__
    return not isinstance(reply, ServerError) or class_of(str(reply)) is not ReplyClass.BUSY_SERVER
