"""The value of a with block that reserves, then settles."""

from __future__ import annotations

from .asks import Request
from .errors import InvalidError, StintError, UnavailableError
from .results import Charge, MultiResult


class Reserved:
    """What was taken for a block. Call settle() with the true cost."""

    def __init__(self, result: MultiResult) -> None:
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


def as_reserved(request: Request) -> None:
    """Refuse a request that the server would not remember."""
    if not request.id:
        raise InvalidError("reserving needs a request with an id, and a time to remember it")
