"""The value of a with block that reserves, then settles."""

from __future__ import annotations

import logging
import threading

from .asks import Key, Request
from .errors import InvalidError, RefusedError, StintError, UnavailableError
from .results import Charge, MultiResult, Source

log = logging.getLogger("stint")

_warned = threading.Event()


def told(identity: Key, charges: list[Charge] | None) -> list[Charge] | None:
    """Return the charges of a settlement. Log the first of this process that has none."""
    if charges is None and not _warned.is_set():
        _warned.set()
        log.warning(
            "Stint does not know the request %r that was settled, and its true cost was not charged: the time to"
            " remember it is over, or nothing was taken under its id. Later ones are not logged one by one",
            identity,
        )
    return charges


class Reserved:
    """What was taken for a block. Call settle() with the true cost."""

    def __init__(self, result: MultiResult, identity: Key) -> None:
        self._identity = identity
        self.result = result
        self.cost: int | None = None
        self.charges: list[Charge] | None = None
        self.error: StintError | None = None  # why the true cost was not charged

    @property
    def allowed(self) -> bool:
        """Whether to go ahead."""
        return self.result.allowed

    @property
    def may_be_taken(self) -> bool:
        """Whether the server took something, or may have taken it before its reply was lost."""
        return self.result.allowed or isinstance(self.result.cause, UnavailableError)

    @property
    def is_settled(self) -> bool:
        """Whether settle() was called."""
        return self.cost is not None

    def settle(self, tokens: int) -> None:
        """Charge this number of tokens at the end of the block, in place of those that were reserved."""
        if self.cost is not None and self.cost != tokens:
            raise InvalidError(f"this was settled with {self.cost} already, got {tokens}")
        self.cost = tokens

    def end(self, charges: list[Charge] | None) -> None:
        """Record the outcome of a block. What the server granted and has forgotten stays taken, which is an error."""
        self.charges = charges if self.cost is None else told(self._identity, charges)
        if charges is None and self.result.source is Source.SERVER:
            self.error = RefusedError(
                "the block took longer than the server remembers its id, and all that was reserved stays taken:"
                " remember it for longer"
            )


def as_reserved(request: Request) -> None:
    """Refuse a request that the server would not remember."""
    if not request.id:
        raise InvalidError("reserving needs a request with an id, and a time to remember it")
