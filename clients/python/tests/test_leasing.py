"""One lease against a model of the server, in simulated time."""

from __future__ import annotations

import stint
from stint.errors import RefusedError, ReplyTimeoutError
from stint.leasing import Lease
from stint.lending import Moment, Operation
from stint.results import Result

from .loan_model import SECOND, Model

LIMIT = stint.per_second(1000).burst(8000)
KEY = b"k"


class Process:
    """A lease, and the server it asks."""

    def __init__(self) -> None:
        self.model, self.ms, self.sent = Model(LIMIT), 0, 0
        self.lease = Lease(KEY, LIMIT, LIMIT, "holder", 0.1)
        while not self.lease.held(self.now):
            self.ask()

    @property
    def now(self) -> Moment:
        return Moment(self.ms * SECOND // 1000, self.ms * SECOND // 1000)

    def ask(self) -> stint.Source:
        """Ask for a token, ten milliseconds after the last request, and answer its operation."""
        self.ms += 10
        found: Result | Operation | None = self.lease.take(self.now, 1)
        if isinstance(found, Operation):
            self.sent += 1
            reply = self.model.operate(self.now.day, found)
            found = self.lease.hear(self.now, found, reply, None, 1)
        if isinstance(found, Result):
            return found.source
        granted = self.model.acquire(self.now.day, 1)
        self.lease.asked(Result(granted > 0, granted, remaining=self.model.available(self.now.day)))
        return stint.Source.SERVER


def test_a_chunk_covers_the_time_ahead() -> None:
    process = Process()
    process.sent = 0
    assert {process.ask() for _ in range(100)} == {stint.Source.LEASED}
    assert 5 <= process.sent <= 20  # 100 requests in a second, and chunks for a tenth of it


def test_a_refusal_sends_requests_to_the_server_for_ten_seconds() -> None:
    process = Process()
    while isinstance(found := process.lease.take(process.now, 1), Result):
        pass
    assert isinstance(found, Operation)
    assert process.lease.hear(process.now, found, None, RefusedError("ERR unknown command 'RL.LEND'"), 1) is None
    assert {process.ask() for _ in range(999)} == {stint.Source.SERVER}
    assert stint.Source.LEASED in {process.ask() for _ in range(5)}


def test_a_loan_in_use_is_renewed_before_it_ends() -> None:
    process = Process()
    held = process.lease.held(process.now)
    process.ms += 2600
    renewal = process.lease.take(process.now, 1)
    assert isinstance(renewal, Operation) and renewal.arguments[10] == held
    assert process.lease.take(process.now, 1) is not None  # from memory meanwhile
    process.lease.hear(process.now, renewal, process.model.operate(process.now.day, renewal), None, 1)
    process.ms += 4000
    assert process.lease.held(process.now) > 0
    process.ms += 1000
    assert process.lease.held(process.now) == 0


def test_a_return_whose_answer_is_lost_is_repeated() -> None:
    process = Process()
    held = process.lease.held(process.now)
    assert not process.lease.unused()
    assert process.lease.unused()
    lost = process.lease.give_back(process.now)
    assert lost is not None and process.lease.give_back(process.now) is None  # one at a time
    process.lease.hear(process.now, lost, None, ReplyTimeoutError("lost"), 0)
    before = process.model.available(process.now.day)
    assert process.lease.unused()
    again = process.lease.give_back(process.now)
    assert again == lost
    process.lease.hear(process.now, again, process.model.operate(process.now.day, again), None, 0)
    assert process.model.available(process.now.day) == before + held
    assert process.lease.give_back(process.now) is None
