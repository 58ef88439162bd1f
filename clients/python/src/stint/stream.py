# Made from aiostream.py by tests/test_twins.py: change that module.
"""A stream that ends at its budget, for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from .asks import Ask, Request
from .errors import StintError
from .results import MultiResult
from .slices import Limits, Slices, closing

T = TypeVar("T")


class Stream(Slices):
    """A stream that reserves its tokens in slices, until no more are granted. One thread may use it at a time."""

    def __init__(
        self,
        result: MultiResult,
        request: Request,
        limits: Limits,
        prompt: int,
        step: int,
        extend: Callable[[Ask, MultiResult], MultiResult | None],
    ) -> None:
        super().__init__(result, request, limits, prompt, step)
        self._extend = extend

    def add(self, tokens: int) -> None:
        """Count the tokens of a chunk before it is passed on. BudgetSpentError: it must not be, and was not counted.

        add(0) says that the model has begun to answer, which costs the prompt.
        """
        while needed := self._missing(tokens):
            extension = self._extend(self._extension(needed), self.result)
            self._take(needed, extension)
            if extension is not None and not extension.allowed:
                raise self._stop(extension)
        self.used += tokens
        if soon := self._missing_soon():
            self._asks_ahead = False
            with suppress(StintError):  # what is reserved lasts for a while
                self._take(soon, self._extend(self._extension(soon), self.result))

    def wrap(self, chunks: Iterable[T], tokens_of: Callable[[T], int]) -> Iterator[T]:
        """Pass chunks on while they are within the budget. Their source is closed at the end, so the provider stops."""
        try:
            for chunk in chunks:
                self.add(tokens_of(chunk))
                yield chunk
        finally:
            close = closing(chunks)
            if close is not None:
                close()
