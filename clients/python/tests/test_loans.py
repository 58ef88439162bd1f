"""Random histories of loans against a model, in simulated time."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import pytest

import stint
from stint.errors import ReplyTimeoutError, StintError
from stint.lending import SPEND_FOR, Moment, Operation, Purse

from .loan_model import SECOND, Model

LIMITS = [
    stint.per_second(1000).burst(100_000),
    stint.per_second(100).burst(50),
    stint.per_second(20).burst(1000),
    stint.per(7, 3).burst(300),
    stint.window(500, "@2s"),
]
HISTORIES = 2000
STEPS = 400


class Holder:
    """A process with a purse."""

    def __init__(self, name: str, spend_for: int) -> None:
        self.purse = Purse(name, spend_for)
        self.waits = 0  # the number of the operation whose answer it waits for
        self.stopped = 0  # until then it does nothing
        self.slept = 0  # time for which its monotonic clock stood still


class History:
    """Random events on one key."""

    def __init__(self, seed: int, fault: str) -> None:
        self.random = random.Random(seed)
        self.limit, self.fault = LIMITS[seed % len(LIMITS)], fault
        self.model = Model(self.limit)
        self.now = self.serial = self.direct = 0
        self.spent = self.lost = self.late = self.ignored = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.holders = [self.new_holder(), self.new_holder()]

    def new_holder(self) -> Holder:
        self.serial += 1
        spend_for = 10**30 if self.fault == "spends past the end of the loan" else SPEND_FOR
        return Holder(f"holder{self.serial}", spend_for)

    def clock(self, p: Holder) -> Moment:
        monotonic = self.now - p.slept
        return Moment(monotonic, monotonic if self.fault == "does not see that the machine slept" else self.now)

    def after(self, delay: int, happen: Callable[[], None]) -> None:
        self.serial += 1
        heapq.heappush(self.events, (self.now + delay, self.serial, happen))

    def delay(self) -> int:
        """Mostly a short time, and now and then that of a pause."""
        kind = self.random.randrange(20)
        return self.random.randrange(3 * SECOND if kind == 0 else SECOND // 5 if kind < 3 else SECOND // 200)

    def step(self) -> None:
        until = self.now + self.random.randrange(SECOND * 3 // 100)
        if self.random.randrange(100) == 0:
            until += self.random.randrange(15 * SECOND)
        while self.events and self.events[0][0] <= until:
            self.now, _, happen = heapq.heappop(self.events)
            happen()
        self.now = until
        i, kind = self.random.randrange(len(self.holders)), self.random.randrange(100)
        p = self.holders[i]
        if kind >= 98:
            self.model.reset(self.now)
            self.direct = 0
        elif kind >= 90:
            self.others()
        elif self.now < p.stopped:
            pass
        elif kind < 45:
            n = max(1, p.purse.tokens)
            n = self.random.choice([n, self.random.randint(1, n)])
            if p.purse.spend(self.clock(p), n):
                self.spent += n
                self.model.spend(self.now, n)
        elif kind < 80:
            self.send(p, lends=kind < 75)
        elif kind < 82:  # stopped, or the machine sleeps
            while self.random.randrange(2):
                p.stopped = max(p.stopped, self.now) + self.random.randrange(30 * SECOND)
            if self.random.randrange(2):
                p.slept += max(0, p.stopped - self.now)
        elif kind < 83:  # a crash
            self.holders[i] = self.new_holder()

    def others(self) -> None:
        """Take tokens from the server, give some back, or change the rate."""
        if self.random.randrange(3) < 2:
            granted = self.model.acquire(self.now, self.random.randint(1, self.limit.tokens))
            self.direct += granted
            if granted:
                self.after(10 * self.delay(), lambda: self.refund(granted))
        elif self.model.is_bucket:
            self.model.change_rate(self.now, self.random.randint(1, 20 * int(self.limit.count)))
            self.after(self.delay(), lambda: self.model.change_rate(self.now, int(self.limit.count)))

    def refund(self, most: int) -> None:
        back = min(self.direct, self.random.randint(1, most))
        self.direct -= back
        self.model.refund(self.now, back)

    def send(self, p: Holder, lends: bool) -> None:
        """Send an operation. Some are given up; the server gets them all the same, or never."""
        if p.waits:
            return
        tokens = self.random.randint(1, self.limit.tokens)
        now = self.clock(p)
        operation = p.purse.lend(now, b"k", self.limit, tokens) if lends else p.purse.give_back(now, b"k")
        p.waits = operation.number
        arrives, returns = self.delay(), self.delay()
        if self.random.randrange(4) == 0:
            self.lost += 1
            self.after(self.random.randrange(SECOND // 50), lambda: self.give_up(p, operation))
            if self.random.randrange(4) == 0:
                return
            arrives += self.random.randrange(SECOND)
            returns += self.random.randrange(3 * SECOND)
        self.after(arrives, lambda: self.serve(p, operation, returns))

    def serve(self, p: Holder, operation: Operation, returns: int) -> None:
        reply, error = [0], None
        if self.fault == "takes any number for the last":
            self.forge(p, operation)
        try:
            reply = self.model.operate(self.now, operation)
        except StintError as refused:
            error = refused
        self.after(returns, lambda: self.arrive(p, operation, reply, error))

    def forge(self, p: Holder, operation: Operation) -> None:
        """Replace the previous number by that which the server has."""
        previous, left = (4, 5) if operation.returning else (8, 10)
        lent = self.model.lent.get(p.purse.holder)
        if lent is not None:
            stated = operation.arguments[left]
            assert isinstance(stated, int)
            operation.arguments[previous], operation.arguments[left] = lent.number, min(stated, lent.tokens)

    def give_up(self, p: Holder, operation: Operation) -> None:
        if p.waits == operation.number:
            p.waits = 0
            with pytest.raises(ReplyTimeoutError):
                p.purse.hear(operation, None, ReplyTimeoutError("lost"))

    def arrive(self, p: Holder, operation: Operation, reply: list[int], error: StintError | None) -> None:
        if self.now < p.stopped:
            self.late += 1
            self.after(p.stopped - self.now, lambda: self.arrive(p, operation, reply, error))
        elif p.waits == operation.number:
            p.waits = 0
            try:
                self.ignored += p.purse.hear(operation, reply, error).ignored
            except StintError:
                assert error is not None
        elif error is None and self.fault == "uses late answers" and not operation.returning:
            p.purse.tokens += reply[0]


FAULTS = [
    "spends past the end of the loan",
    "does not see that the machine slept",
    "uses late answers",
    "takes any number for the last",
]


@pytest.mark.parametrize("fault", ["", *FAULTS])
def test_loans_never_exceed_the_limit(fault: str) -> None:
    """No history exceeds the limit, and with each fault one does, so the test finds faults."""
    spent = lost = late = ignored = 0
    for seed in range(HISTORIES):
        history = History(seed, fault)
        for _ in range(STEPS):
            history.step()
        if history.model.excess:
            assert fault, f"history {seed}: {history.model.excess} tokens more than {history.limit}"
            return
        spent, lost = spent + history.spent, lost + history.lost
        late, ignored = late + history.late, ignored + history.ignored
    assert not fault, "no history shows the fault"
    assert spent and lost and late and ignored


def test_a_holder_that_is_contradicted_begins_again() -> None:
    limit = stint.per_second(10).burst(800)
    model, purse, now = Model(limit), Purse("holder"), Moment(0, 0)

    def ask() -> int:
        operation = purse.lend(now, b"k", limit, 100)
        try:
            reply = model.operate(0, operation)
        except StintError as error:
            with pytest.raises(stint.RefusedError):
                purse.hear(operation, None, error)
        else:
            purse.hear(operation, reply, None)
        return purse.tokens

    assert ask() == 100
    purse.tokens += 1
    assert (ask(), ask()) == (0, 87)
