# Made from aio.py by tests/test_twins.py: change that module.
"""The limiter for threads."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from . import asks
from .asks import Ask, Key, Keyed, Request
from .base import DEFAULT_COOL_DOWN, DEFAULT_FAILURES, DEFAULT_TIMEOUT, Base, Decision, Settings, request_of
from .breaker import Breaker
from .classes import Class, ask_class
from .credits import Credits, ask_add, parse_credits
from .errors import StintError, UnavailableError
from .first import DEFAULT_CONNECT_TIMEOUT, FirstCalls
from .keys import short_key
from .limits import Limit, holder_name
from .link import Link, to_the_end
from .nodes import Nodes, Where
from .policy import Policy, must_be_policy
from .reports import DEFAULT_REPORT, Member, Pace, ReportOptions, ask_report, parse_members, parse_pace
from .reserving import Reserved, as_reserved, told
from .results import (
    Charge,
    MultiResult,
    Result,
    Source,
    integers,
    parse_at_most,
    parse_charges,
    parse_integer,
    parse_refund,
)
from .retry import may_pass, pauses
from .slices import DEFAULT_STEP, REMEMBER, BudgetSpentError, caller_of, check_slices, less
from .stream import Stream
from .usage import Usage, parse_usage, parse_usages
from .waiting import LONGEST_WAIT, Reservation, after_queue, check_priority, give_up, how_to_reserve, seconds_of


class Limiter(Base):
    """Asks a Stint server. Make one, keep it while the program runs, and share it between threads.

    where is a URL such as redis://127.0.0.1:6379, several URLs of one cluster, or a redis.Redis, whose settings
    are used for the limiter's own connections. Every call returns within the timeout (in seconds); while Stint does not
    answer, when_down decides. The first calls also wait for the connection, at most connect_timeout (in seconds).
    Errors about the request itself are raised, under every policy.
    """

    def __init__(
        self,
        where: Where,
        when_down: Policy | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        connect_timeout: float = DEFAULT_CONNECT_TIMEOUT,
        failures: int = DEFAULT_FAILURES,
        cool_down: float = DEFAULT_COOL_DOWN,
        assume: Mapping[str, Sequence[Limit | str]] | None = None,
        on_decision: Callable[[Decision], None] | None = None,
        on_breaker: Callable[[bool, StintError | None], None] | None = None,
    ) -> None:
        super().__init__(Settings(must_be_policy(when_down), timeout, {} if assume is None else assume, on_decision))
        breaker = Breaker(failures, cool_down, on_breaker or (lambda is_open, cause: None))
        nodes = Nodes(where, is_async=False, timeout=timeout, breaker=breaker)
        self._link = Link(nodes, breaker, FirstCalls(connect_timeout), timeout)

    @property
    def is_open(self) -> bool:
        """Whether the circuit breaker is open for all nodes: no requests are sent to Stint at present."""
        return self._link.breaker.open

    def allow(self, key: Key, limit: Limit | str, n: int = 1) -> Result:
        """Take n tokens or none."""
        return self._acquire(asks.acquire("allow", key, limit, n))

    def allow_at_most(self, key: Key, limit: Limit | str, n: int) -> Result:
        """Take the tokens that are left, at most n."""
        return self._acquire(asks.acquire("allow_at_most", key, limit, n, "UPTO"))

    def peek(self, key: Key, limit: Limit | str, n: int = 1) -> Result:
        """Return the answer of allow, and take nothing."""
        return self._acquire(asks.acquire("peek", key, limit, n, "PEEK"))

    def force(self, key: Key, limit: Limit | str, n: int) -> Result:
        """Take n tokens even if fewer are left."""
        return self._acquire(asks.acquire("force", key, limit, n, "FORCE"))

    def all(self, *limits: Keyed, tokens: int | Request = 1, peek: bool = False) -> MultiResult:
        """Ask several limits at one instant, all or nothing."""
        return self._multi(asks.everything(limits, request_of(tokens), peek))

    def check(self, policy: str, caller: Key, tokens: int | Request = 1, *, peek: bool = False) -> MultiResult:
        """Ask the limits of a policy that is stored on the server."""
        return self._multi(asks.check(policy, caller, request_of(tokens), self._assumed(policy), peek))

    def allow_class(self, tree: Class, n: int = 1) -> Result:
        """Take n tokens of a class, of its assured ones or of those that its ancestors have to lend, or none."""
        return self._acquire(ask_class("allow_class", tree, n))

    def peek_class(self, tree: Class, n: int = 1) -> Result:
        """Return the answer of allow_class, and take nothing."""
        return self._acquire(ask_class("peek_class", tree, n, "PEEK"))

    def add_credits(self, key: Key, credits: int, *, payment: Key, expires: int | None = None) -> int:
        """Add the credits of a payment to a balance, and return the present balance.

        payment is the id of the payment, which the server remembers for 10 years: the same again adds nothing. expires
        is when the rest of these credits is gone, in whole Unix seconds.
        """
        reply = to_the_end(self._ask(ask_add(key, credits, payment, expires)))
        return integers(reply, 2)[1]

    def credits(self, key: Key) -> Credits | None:
        """Return the credits of a balance; None for a key without one."""
        return parse_credits(self._ask(asks.command("BAL.INFO", short_key(key), repeats=True)))

    def members(self, pool: Key) -> list[Member]:
        """Return the active members of a fair share, in the order of their names."""
        return parse_members(self._ask(asks.command("FS.MEMBERS", short_key(pool))))

    def report(
        self, key: Key, good: int = 0, bad: int = 0, *, pause: float = 0.0, options: ReportOptions = DEFAULT_REPORT
    ) -> Pace | None:
        """Tell an adaptive limit how many calls of its backend went well, and how many asked for a lower rate.

        Report sums, each second or so. With pause, such as a Retry-After, nothing is granted to anybody for these
        seconds. Returns None if the key has no limiter: nothing was granted in the last ten minutes.
        """
        return parse_pace(self._ask(ask_report(key, good, bad, pause, options)))

    def usage(self, key: Key) -> Usage | None:
        """Return what was used of the limit of a key; None if nothing was, or the key has expired."""
        return parse_usage(self._ask(asks.command("RL.USAGE", short_key(key), repeats=True)))

    def policy_usage(self, policy: str, caller: Key, *, fields: Mapping[str, Key] | None = None) -> list[Usage]:
        """Return what was used of each limit of a policy that is stored on the server, by a caller."""
        return parse_usages(self._ask(asks.policy_usage(policy, caller, fields or {})))

    def settle(
        self, identity: Key, tokens: int | None = None, *, costs: Sequence[int | None] | None = None
    ) -> list[Charge] | None:
        """Charge the true cost of a request with an id; None if the server does not know the id.

        What a request took stays taken if its time to be remembered is over. The first None of a process is logged.
        """
        return told(identity, parse_charges(to_the_end(self._ask(asks.settle(identity, tokens, costs)))))

    def cancel(self, identity: Key) -> list[Charge] | None:
        """Give back all that a request with this id took."""
        return parse_charges(to_the_end(self._ask(asks.cancel(identity))))

    def extend(
        self,
        identity: Key,
        number: int,
        tokens: int,
        *,
        up_to: bool = False,
        remember: float = 0.0,
        split: bool = False,
    ) -> MultiResult | None:
        """Take more tokens of the same limits for a request with an id; None if the server does not know the id.

        number counts the extensions of the request that were granted, from 1: the same number again is answered alike
        and takes nothing. With up_to, the tokens that all limits have are taken, at most these. With remember
        (seconds), the request can be settled at least for so long from now. settle() then charges the cost of all.
        split has LimitState.granted set if the last limit is a balance(), to what all together took.
        """
        return self._extend(asks.extend(identity, number, tokens, up_to, remember, split=split))

    @contextmanager
    def reserving(self, what: str | Sequence[Keyed], caller: Key = "", *, request: Request) -> Iterator[Reserved]:
        """Take tokens under an id for the time of a with block.

        what is the name of a policy, with the caller, or a list of limits. Call settle() of the value with the true
        cost; if the block raises before that, all is given back.
        """
        as_reserved(request)
        reserved = Reserved(self._open(self._opening(what, caller, request), request.id), request.id)
        try:
            yield reserved
        except BaseException:
            if reserved.may_be_taken and not reserved.is_settled:
                self._finish(reserved, asks.cancel(request.id))
            raise
        if reserved.may_be_taken and reserved.cost is not None:
            self._finish(reserved, asks.settle(request.id, reserved.cost, None))

    @contextmanager
    def streaming(
        self,
        what: str | Sequence[Keyed],
        caller: Key = "",
        *,
        prompt: int = 0,
        step: int = DEFAULT_STEP,
        fields: Mapping[str, Key] | None = None,
        keep: int | str = "",
        id: Key = "",
        remember: float = REMEMBER,
    ) -> Iterator[Stream]:
        """Reserve the tokens of a stream in slices, for the time of a with block, and settle once at its end.

        what and caller are those of reserving(). prompt are the tokens that the stream uses from its beginning. The
        first slice is the mean of this caller's last 8 streams, at least a step and at most 16; each extension is a
        step, or a quarter of what is reserved. The server remembers the reservation for this time (in seconds) after
        the last extension. At the end, the tokens given to settle() are charged, else those that were counted; if none
        were, all is given back. BudgetSpentError: a limit denies the stream, or more of it.
        """
        check_slices(prompt, step)
        name = caller_of(what, caller)
        identity = id or f"stream:{uuid.uuid4()}"
        tokens = prompt + self._estimates.first(name, step)
        request = Request(tokens, keep, fields=fields or {}, id=identity, remember=remember)
        ask = self._opening(what, caller, request)
        result = self._open(ask, identity)
        rest = less(prompt, request, result)
        if rest is not None:
            result = self._open(self._opening(what, caller, rest), identity)
        if not result.allowed:
            if isinstance(result.cause, UnavailableError):  # the server may have granted it
                with suppress(StintError):
                    self.cancel(identity)
            raise BudgetSpentError(result, 0)
        limits = [(key, limit) for key, limit, asked in ask.limits if asked == tokens]
        stream = Stream(result, request, limits, prompt, step, self._extend)
        try:
            yield stream
        finally:
            self._finish(stream, stream._ending(self._estimates, name))

    def _open(self, ask: Ask, identity: Key) -> MultiResult:
        """Take the tokens of a block."""
        try:
            return self._multi(ask)
        except StintError:
            raise  # an error about the request: nothing was taken
        except BaseException:  # such as a cancellation, after which the server may have granted it all the same
            with suppress(StintError):
                self.cancel(identity)
            raise

    def _finish(self, reserved: Reserved, ask: Ask) -> None:
        """Settle. A server that is gone is no error of the block, which has done its work."""
        try:
            reserved.end(parse_charges(to_the_end(self._ask(ask))))
        except StintError as error:
            reserved.error = error

    def refund(self, key: Key, n: int) -> int | None:
        """Give back tokens that were not used. Return those then remaining, None if the key has no usage."""
        ask = asks.command("RL.REFUND", short_key(key), asks.check_tokens(n))
        return parse_refund(to_the_end(self._ask(ask)))

    def at_most(self, key: Key, limit: Limit | str, n: int) -> Result:
        """Leave at most n tokens, of a limit that has more than the service it stands for. granted is what was taken.

        It is for buckets and windows, and never gives tokens back.
        """
        chosen = asks.as_limit(limit)
        return parse_at_most(self._ask(asks.at_most(key, chosen, n)), chosen)

    def reset(self, key: Key) -> None:
        """Set a key to its full limit."""
        parse_integer(self._ask(asks.command("DEL", short_key(key))))

    def release(self, key: Key, holder: str) -> bool:
        """End a holder's place in a concurrency limit. Return whether it had one."""
        ask = asks.command("CC.RELEASE", short_key(key), holder_name(holder))
        return parse_integer(to_the_end(self._ask(ask))) > 0

    def reserve(self, key: Key, limit: Limit | str, n: int = 1, *, max_wait: float) -> Reservation:
        """Take n tokens that will be there within max_wait seconds; act after the delay of the reservation."""
        chosen = asks.as_limit(limit)
        ask = asks.acquire("reserve", key, chosen, n, *how_to_reserve(chosen, max_wait))
        result = to_the_end(self._acquire(ask), lambda taken: self._give_back(key, chosen, taken))
        late = after_queue(chosen, result, max_wait)
        if late is not None:
            self.refund(key, n)
            result = late
        return Reservation(result, key)

    def _give_back(self, key: Key, limit: Limit, taken: Result) -> None:
        """Give back the tokens, or the place, of a caller that has left."""
        if not taken.allowed or taken.source is not Source.SERVER:
            return
        if limit.holder:
            self.release(key, limit.holder)
        else:
            self.refund(key, taken.granted)

    def cancel_reservation(self, reservation: Reservation) -> None:
        """Give the tokens back, unless the time to act has come."""
        if reservation.is_refundable():
            self.refund(reservation.key, reservation.result.granted)

    def wait(
        self,
        key: Key,
        limit: Limit | str,
        n: int = 1,
        *,
        max_wait: float = LONGEST_WAIT,
        priority: int | None = None,
    ) -> Result:
        """Wait until n tokens are there and take them. Raise an error at once if that takes longer than max_wait.

        For a place in a concurrency limit, the call waits on the server until one is free or max_wait is over. priority
        is its place in the line: 0 to 9, the most urgent, and 5 by default. A wait that is cancelled gives back its
        tokens, or the holder's place.
        """
        chosen, until = asks.as_limit(limit), self._now() + seconds_of(max_wait)
        check_priority(chosen, priority)
        while True:
            left = max(0.0, until - self._now())
            if chosen.algorithm.reserves:
                reservation = self.reserve(key, chosen, n, max_wait=left)
                result, pause = reservation.result, reservation.result.wait
            else:
                allowed = self.allow(key, chosen, n)
                result, pause = to_the_end(allowed, lambda taken: self._give_back(key, chosen, taken)), 0.0
                if chosen.holder and not result.allowed and result.source is Source.SERVER and left > 0:
                    result = self._wait_for_place(key, chosen, until, priority)
                    left = max(0.0, until - self._now())
            if not result.allowed:
                pause = give_up(chosen, result, n, left, self._settings.when_down)
            try:
                self._sleep(pause)
            except BaseException:
                if result.allowed and chosen.algorithm.reserves:
                    self.cancel_reservation(reservation)
                raise
            if result.allowed:
                return result

    def _wait_for_place(self, key: Key, limit: Limit, until: float, priority: int | None) -> Result:
        """Wait on the server, and again if that connection ends: the holder has one place, however often it asks."""
        begun, failure, reply = time.monotonic(), None, None
        for pause in pauses():
            left = until - self._now()
            ask = asks.place(key, limit, left, priority)
            try:
                reply, failure = self._link.call_apart(ask.packed, left + self._timeout), None
            except StintError as error:
                failure = error
                if may_pass(error) and until - self._now() > pause:
                    time.sleep(pause)
                    continue
            except BaseException:  # a place that was granted just now has nobody to use it
                with suppress(StintError):
                    self.release(key, limit.holder)
                raise
            return self._one(ask, begun, reply, failure)
        raise AssertionError("pauses never end")

    def close(self) -> None:
        """Close the connections."""
        self._link.close()

    def __enter__(self) -> Limiter:
        """Return the limiter, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the limiter."""
        self.close()

    def _sleep(self, seconds: float) -> None:
        self._link.sleep(seconds)

    def _ask(self, ask: Ask) -> Any:
        if not ask.repeats:
            return self._link.call(ask.packed, self._timeout)
        until = time.monotonic() + self._timeout
        for pause in pauses():
            try:
                return self._link.call(ask.packed, until - time.monotonic())
            except StintError as error:
                if not may_pass(error) or until - time.monotonic() <= pause:
                    raise
            time.sleep(pause)
        raise AssertionError("pauses never end")

    def _acquire(self, ask: Ask) -> Result:
        begun, reply, failure = time.monotonic(), None, None
        try:
            reply = self._ask(ask)
        except StintError as error:
            failure = error
        return self._one(ask, begun, reply, failure)

    def _extend(self, ask: Ask, opening: MultiResult | None = None) -> MultiResult | None:
        """Extend a request. What the fallback has opened, the server does not know: the fallback extends it, too."""
        begun, reply = time.monotonic(), None
        failure = None if opening is None or opening.source is Source.SERVER else opening.cause
        if failure is None:
            try:
                reply = self._ask(ask)
            except StintError as error:
                failure = error
            else:
                if reply is None:
                    return None
        return self._several(ask, begun, reply, failure)

    def _multi(self, ask: Ask) -> MultiResult:
        begun, reply, failure = time.monotonic(), None, None
        try:
            reply = self._ask(ask)
        except StintError as error:
            failure = error
        return self._several(ask, begun, reply, failure)
