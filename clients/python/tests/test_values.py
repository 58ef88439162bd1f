"""Limits as text, the protocol, keys, settings: everything without a server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import stint
from stint.breaker import Breaker
from stint.keys import short_key
from stint.limits import ALGORITHMS
from stint.local import Buckets
from stint.rates import parse_duration, parse_rate
from stint.wire import Decoder, ProtocolError, encode

from .test_vectors import FOLDER

TEXTS = json.loads((FOLDER / "limits.json").read_text())
LIMITS: dict[str, str] = TEXTS["limits"]
NOT_LIMITS: list[str] = [*TEXTS["refused"], "9" * 5000]


@pytest.mark.parametrize("text", LIMITS)
def test_limits_as_text(text: str) -> None:
    assert str(stint.parse(text)) == LIMITS[text]


@pytest.mark.parametrize("text", NOT_LIMITS, ids=lambda text: repr(text[:20]))
def test_texts_that_are_no_limits(text: str) -> None:
    with pytest.raises(stint.InvalidError) as caught:
        stint.parse(text)
    assert len(str(caught.value)) < 400


NUMBERS = json.loads((FOLDER / "numbers.json").read_text())


@pytest.mark.parametrize("text", NUMBERS["rates"])
def test_rates_as_programs_print_them(text: str) -> None:
    assert parse_rate(text) == parse_rate(NUMBERS["rates"][text])


@pytest.mark.parametrize("text", NUMBERS["durations"])
def test_durations_as_programs_print_them(text: str) -> None:
    assert parse_duration(text) == parse_duration(NUMBERS["durations"][text])


def test_numbers_that_are_refused() -> None:
    for text in NUMBERS["rates_beyond"]:
        with pytest.raises(stint.InvalidError, match="a rate must be above 0 and at most"):
            parse_rate(text)
    for text in NUMBERS["not_rates"]:
        with pytest.raises(stint.InvalidError, match="a rate must be such as"):
            parse_rate(text)
    for text in NUMBERS["not_durations"]:
        with pytest.raises(stint.InvalidError, match="a duration must be between"):
            parse_duration(text)


def test_every_algorithm_can_be_written() -> None:
    assert {text.split()[0].upper() for text in LIMITS if text[0].isalpha()} == set(ALGORITHMS)


def test_invalid_arguments_are_refused_before_anything_is_sent() -> None:
    limiter = stint.Limiter("redis://127.0.0.1:1", stint.fail_open())
    calls: list[Callable[[], object]] = [
        lambda: limiter.allow("k", "10/fortnight"),
        lambda: limiter.allow("k", "10/s", 0),
        lambda: limiter.allow("k", "10/s", -1),
        lambda: limiter.allow("k", "10/s", 10**12 + 1),
        lambda: limiter.allow("k", "10/s", True),
        lambda: limiter.allow("k", "10/s", 1.5),  # type: ignore[arg-type]
        lambda: limiter.force("k", "CL 1 1 60", 1),
        lambda: limiter.allow("k", "CC 5 30s job", 2),
        lambda: limiter.settle("id"),
        lambda: limiter.settle("id", -1),
        lambda: limiter.refund("k", 0),
        lambda: limiter.reserve("k", "FW 5 @day", max_wait=1),
        lambda: stint.per(10, 0.0001),
        lambda: stint.per(10, float("nan")),
        lambda: stint.per(0, 1),
        lambda: stint.window(5, "@decade"),
        lambda: stint.window(5, "1h", tz="Europe/Berlin"),
        lambda: stint.window(5, "@month", start="32"),
        lambda: stint.per(5, 1).member(""),
        lambda: stint.per(5, 1).member("a", -1),
        lambda: stint.per(5, 1).member("a", 10**12),
        lambda: stint.window(5, "@day").member("a"),
        lambda: stint.per(5, 1).adaptive(6),
        lambda: stint.per(5, 1).adaptive(0),
        lambda: stint.per(5, 1).adaptive(1).member("a"),
        lambda: limiter.force("k", stint.per(5, 1).member("a"), 1),
        lambda: limiter.report("k", -1),
        lambda: limiter.report("k", 10**18 + 1),
        lambda: limiter.report("k", 1, 1.5),  # type: ignore[arg-type]
        lambda: limiter.report("k", 1, pause=-1),
        lambda: limiter.report("k", 1, pause=float("inf")),
        lambda: stint.ReportOptions(every=0),
        lambda: stint.ReportOptions(down=100),
        lambda: stint.ReportOptions(up=float("nan")),
        lambda: stint.Class("c", stint.per(1, 1), stint.per(2, 1), []),
        lambda: stint.Class("c", stint.per(1, 1), stint.per(2, 1), [stint.on("c", stint.per(9, 1))]),
        lambda: stint.Class("c", stint.per(1, 1), stint.window(2, 1), [stint.on("r", stint.per(9, 1))]),
        lambda: stint.local_share(0),
        lambda: stint.Request(1, id="x"),
        lambda: stint.Request(1, remember=float("inf"), id="x"),
        lambda: stint.Limiter([], stint.fail_open()),
        lambda: stint.Limiter("http://x", stint.fail_open()),
        lambda: stint.Limiter("redis://x", "open"),  # type: ignore[arg-type]
        lambda: stint.Limiter("redis://x", stint.fail_open(), timeout=0),
    ]
    for i, call in enumerate(calls):
        with pytest.raises(stint.InvalidError):
            call()
            raise AssertionError(f"call {i} raised nothing")
    assert not limiter.is_open


def test_durations_are_exact() -> None:
    assert parse_duration("0.1s") * 10 == 1
    assert parse_duration("7d") == 7 * 86400
    for text in ("0.0000000001s", "0.5ms", "3651d", "1w"):
        with pytest.raises(stint.InvalidError):
            parse_duration(text)


def test_replies_in_any_pieces() -> None:
    text = b"*4\r\n:1\r\n$-1\r\n$4\r\na\r\nb\r\n*1\r\n-ERR no\r\n+OK\r\n"
    for size in range(1, len(text) + 1):
        decoder, replies = Decoder(), []
        for i in range(0, len(text), size):
            decoder.feed(text[i : i + size])
            while (decoded := decoder.next())[0]:
                replies.append(decoded[1])
        array, status = replies
        assert array[:3] == [1, None, b"a\r\nb"] and str(array[3][0]) == "ERR no" and status == b"OK"


@pytest.mark.parametrize("text", [b"x\r\n", b":x\r\n", b"*x\r\n", b"$99999999999\r\n", b"*1\r\n" * 20, b"\r\n"])
def test_bytes_that_are_no_reply(text: bytes) -> None:
    decoder = Decoder()
    decoder.feed(text)
    with pytest.raises(ProtocolError):
        decoder.next()


def test_commands_are_of_bytes() -> None:
    assert encode(["é", b"\xff\r\n", -5]) == b"*3\r\n$2\r\n\xc3\xa9\r\n$3\r\n\xff\r\n\r\n$2\r\n-5\r\n"


def test_keys_of_any_text() -> None:
    keys = ["\udcff", "\ud800", "\ud800" * 100, "é", "\x00"]
    assert [short_key(key)[:3] for key in keys] == [b"\xff", b"\xed\xa0\x80", b"\xed\xa0\x80", b"\xc3\xa9", b"\x00"]
    assert len(short_key("\ud800" * 100)) == 208


def test_overlapping_failures_count_once() -> None:
    changes: list[bool] = []
    breaker = Breaker(3, 1.0, lambda is_open, cause: changes.append(is_open))
    circuit = breaker.circuit("10.0.0.1:6379")
    cause = stint.UnavailableError("x")
    for _ in range(1000):
        circuit.failed(0.0, 1.0, cause)  # all were in flight when the first failed
    assert not breaker.open
    circuit.failed(1.0, 2.0, cause)
    circuit.succeeded()
    for now in (3.0, 4.0):
        circuit.failed(now, now, cause)
    assert not breaker.open
    assert circuit.failed(5.0, 5.0, cause) and breaker.open
    circuit.close()
    assert not breaker.open and changes == [True, False]


def test_the_breaker_is_open_while_all_nodes_are_silent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="stint")
    changes: list[bool] = []
    breaker = Breaker(2, 1.0, lambda is_open, cause: changes.append(is_open))
    first, second = breaker.circuit("a:1"), breaker.circuit("b:2")
    cause = stint.UnavailableError("x")
    for now in (1.0, 2.0):
        first.failed(now, now, cause)
    second.failed(3.0, 3.0, cause)
    assert (first.open, second.open, breaker.open) == (True, False, False)
    second.succeeded()
    for now in (4.0, 5.0):
        second.failed(now, now, cause)
    assert breaker.open
    learnt = breaker.circuit("c:3")
    learnt.failed(6.0, 6.0, cause)  # a redirection that was followed before
    assert breaker.open
    second.close()
    assert (first.open, second.open, breaker.open) == (True, False, False)
    first.close()
    assert not first.open
    assert changes == [True, False]
    assert [record.getMessage() for record in caplog.records] == [
        "Stint's node a:1 does not answer, and is not asked until it does: x",
        "Stint does not answer, so the fallback decides: x",
        "Stint answers again",
        "Stint's node a:1 answers again",
    ]


def test_a_local_share_with_a_clock_that_jumps() -> None:
    buckets, limit = Buckets(0.5), stint.per_second(10).burst(20)
    asks = [(b"k", limit, 10)]
    assert buckets.take(100.0, asks, True).binding == -1
    assert buckets.take(50.0, asks, True).binding == 0  # a clock that jumps back gives no tokens
    denied = buckets.take(100.0, asks, True)
    assert denied.retry_after == pytest.approx(2.0)
    assert buckets.take(102.0, asks, True).binding == -1
    assert (
        buckets.take(1e12, asks, True).states[0].remaining == 0
    )  # nor does one that jumps ahead fill more than it holds
