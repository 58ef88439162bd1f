"""The state of a stream that ends at its budget: its slices, without input and output."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from . import asks
from .asks import Ask, Key, Keyed, Request
from .checks import is_whole
from .errors import InvalidError, RefusedError, StintError
from .keys import short_key
from .limits import Limit
from .rates import MAX_TOKENS
from .reserving import Reserved
from .results import NEVER, MultiResult, Source

DEFAULT_STEP = 256
MAX_STEP = 10**9
REMEMBER = 600.0  # seconds

REMEMBERED_STREAMS = 8
MAX_CALLERS = 10_000

Caller = tuple[bytes, ...]
Limits = Sequence[tuple[bytes, Limit]]


class BudgetSpentError(StintError):
    """A limit denied a stream, or more of it. result is the denial, used the tokens that were counted before it."""

    def __init__(self, result: MultiResult, used: int) -> None:
        self.result, self.used = result, used
        if result.source is Source.FALLBACK:
            outlook = str(result.cause)
        elif result.retry_after == NEVER:
            outlook = "it will never be granted"
        else:
            outlook = f"try again in {result.retry_after:.3f} s"
        super().__init__(f"the budget is spent after {used} tokens: {outlook}")


class Estimates:
    """The tokens of each caller's last streams in this process. Its values are replaced, so it needs no lock."""

    def __init__(self) -> None:
        self._streams: OrderedDict[Caller, tuple[int, ...]] = OrderedDict()

    def first(self, caller: Caller, step: int) -> int:
        """Return the mean of a caller's last streams, from a step to sixteen; a step if there were none."""
        last = self._streams.get(caller)
        mean = -(-sum(last) // len(last)) if last else step
        return max(step, min(mean, 16 * step))

    def note(self, caller: Caller, tokens: int) -> None:
        """Remember a stream. The caller of which none has ended for the longest time is forgotten."""
        last = self._streams.pop(caller, ())
        self._streams[caller] = (*last[1 - REMEMBERED_STREAMS :], tokens)
        if len(self._streams) > MAX_CALLERS:
            self._streams.popitem(last=False)


def caller_of(what: str | Sequence[Keyed], caller: Key) -> Caller:
    """Return the name under which the streams of a caller are estimated."""
    if isinstance(what, str):
        return (what.encode(), short_key(caller))
    return tuple(short_key(keyed.key) for keyed in what)


def less(prompt: int, request: Request, denied: MultiResult) -> Request | None:
    """Return the request for the rest of a budget that has no room for the first slice; None if it has no rest."""
    if denied.source is not Source.SERVER or not 0 <= denied.binding < len(denied.limits):
        return None
    has_room = denied.limits[denied.binding].remaining > prompt
    return replace(request, tokens=prompt + 1) if has_room and request.tokens > prompt + 1 else None


class Slices(Reserved):
    """What a stream has reserved and used. Call settle() with the usage that the provider reports, if it does."""

    def __init__(self, result: MultiResult, request: Request, limits: Limits, prompt: int, step: int) -> None:
        super().__init__(result, request.id)
        self.id = request.id
        self.used = prompt
        self.reserved = result.granted
        self._prompt, self._step, self._remember, self._limits = prompt, step, request.remember, limits
        self._extensions = 0
        self._asks_ahead = True
        self._begun = False
        self._spent: BudgetSpentError | None = None
        self._costs: Sequence[int | None] | None = None

    def settle_costs(self, tokens: int, costs: Sequence[int | None]) -> None:
        """Charge an amount to each limit, in their order, in place of the tokens of the stream. None keeps a charge."""
        self.settle(tokens)
        self._costs = costs

    def _missing(self, tokens: int) -> int:
        """Return the tokens of the extension that is needed before so many more are counted; 0 if none is."""
        if not is_whole(tokens, 0, MAX_TOKENS):
            raise InvalidError(f"the tokens of a chunk must be an integer between 0 and {MAX_TOKENS}, got {tokens!r}")
        if self._spent is not None:
            raise self._spent
        self._begun = True
        missing = self.used + tokens - self.reserved
        return max(missing, self._size()) if missing > 0 else 0

    def _missing_soon(self) -> int:
        """Return the tokens of an extension in advance; 0 if it is too early, or the budget has no room for one."""
        size = self._size()
        return size if self._asks_ahead and 2 * (self.reserved - self.used) < size else 0

    def _size(self) -> int:
        """Return a step, or for a long stream a part of what it has reserved, so that its extensions are few."""
        return max(self._step, self.reserved // 4)

    def _extension(self, tokens: int) -> Ask:
        return asks.extend(self.id, self._extensions + 1, tokens, True, self._remember, self._limits)

    def _take(self, asked: int, extension: MultiResult | None) -> None:
        """Take an extension. Its number is that of the next one only if the server granted it."""
        if extension is None:
            raise RefusedError(f"Stint does not know the stream {self.id!r} any longer: remember it for longer")
        self.reserved += extension.granted
        self._extensions += extension.source is Source.SERVER and extension.allowed
        self._asks_ahead = extension.granted >= asked

    def _stop(self, denied: MultiResult) -> BudgetSpentError:
        self._spent = BudgetSpentError(denied, self.used)
        return self._spent

    def _ending(self, estimates: Estimates, caller: Caller) -> Ask:
        """Return the settlement: of the usage, else of what was counted. A stream that never began is canceled."""
        if self.cost is None and self._begun:
            self.cost = self.used
        if self.cost is None:
            return asks.cancel(self.id)
        estimates.note(caller, max(0, self.cost - self._prompt))
        return asks.settle(self.id, None if self._costs is not None else self.cost, self._costs)


def check_slices(prompt: int, step: int) -> None:
    """Refuse numbers that the protocol cannot express."""
    if not is_whole(prompt, 0, MAX_TOKENS - 16 * MAX_STEP):
        raise InvalidError(f"prompt: must be an integer between 0 and {MAX_TOKENS - 16 * MAX_STEP}, got {prompt!r}")
    if not is_whole(step, 1, MAX_STEP):
        raise InvalidError(f"step: must be an integer between 1 and {MAX_STEP}, got {step!r}")


def closing(chunks: object) -> Callable[[], Any] | None:
    """Return the function that closes a source of chunks, None if it has none."""
    close: Callable[[], Any] | None = getattr(chunks, "aclose", None) or getattr(chunks, "close", None)
    return close
