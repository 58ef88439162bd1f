"""Arguments of wrong types, from programs without types: each is refused with its value, before anything is sent."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest

import stint
from stint.testing import FakeAsyncLimiter, FakeLimiter
from stint.web.pacing import Pacer
from stint.wire import encode

LIMIT = stint.per_second(10)
ON = stint.on("root", LIMIT)
NO_KEYS: list[Any] = [None, 5, 5.5, True, [], ("a",), bytearray(b"k")]
NO_NUMBERS: list[Any] = [None, "5", True, [], b"5", math.nan]
NO_INTEGERS: list[Any] = [*NO_NUMBERS, 5.5, -1, math.inf, -math.inf, "PEEK", "-1"]
NO_PARTS: list[Any] = [
    None,
    5.5,
    True,
    [],
    -1,
    math.nan,
    math.inf,
    "PEEK",
    "keep",
    "-1",
    "+1",
    "1.5",
    "5 PEEK",
    "101%",
    "nan%",
    "1.2345%",
    "%",
    "٣",
]
NO_LIMITS: list[Any] = [None, 5, True, [], b"5/s"]
NO_TEXTS: list[Any] = [None, 5, b"x"]
NO_FUNCTIONS: list[Any] = [5, "x"]

Call = Callable[[Any, Any], Any]  # of a limiter and a wrong value

OF_A_LIMITER: dict[str, tuple[Call, list[Any]]] = {
    "key": (lambda limiter, v: limiter.allow(v, LIMIT), NO_KEYS),
    "limit": (lambda limiter, v: limiter.allow("k", v), NO_LIMITS),
    "n": (lambda limiter, v: limiter.allow("k", LIMIT, v), NO_INTEGERS),
    "all": (lambda limiter, v: limiter.all(v), [None, 5, "k", ("k", LIMIT), [ON]]),
    "all, tokens": (lambda limiter, v: limiter.all(ON, tokens=v), NO_INTEGERS),
    "check, policy": (lambda limiter, v: limiter.check(v, "u"), [*NO_TEXTS, []]),
    "check, caller": (lambda limiter, v: limiter.check("p", v), NO_KEYS),
    "check, tokens": (lambda limiter, v: limiter.check("p", "u", v), NO_INTEGERS),
    "settle, id": (lambda limiter, v: limiter.settle(v, 5), NO_KEYS),
    "settle, tokens": (lambda limiter, v: limiter.settle("id", v), NO_INTEGERS),
    "settle, costs": (lambda limiter, v: limiter.settle("id", costs=v), [5, "5", [True], ["5"]]),
    "settle, costs of": (lambda limiter, v: limiter.settle("id", costs=[v]), NO_INTEGERS[1:]),
    "cancel": (lambda limiter, v: limiter.cancel(v), NO_KEYS),
    "refund": (lambda limiter, v: limiter.refund("k", v), NO_INTEGERS),
    "reset": (lambda limiter, v: limiter.reset(v), NO_KEYS),
    "release": (lambda limiter, v: limiter.release("k", v), [*NO_TEXTS, ""]),
    "members": (lambda limiter, v: limiter.members(v), NO_KEYS),
    "reserve": (lambda limiter, v: limiter.reserve("k", LIMIT, max_wait=v), NO_NUMBERS),
    "wait": (lambda limiter, v: limiter.wait("k", LIMIT, max_wait=v), NO_NUMBERS),
    "wait, window": (lambda limiter, v: limiter.wait("k", "FW 5 1m", max_wait=v), NO_NUMBERS),
    "report": (lambda limiter, v: limiter.report("k", v), NO_INTEGERS),
    "report, pause": (lambda limiter, v: limiter.report("k", 1, pause=v), NO_NUMBERS),
    "report, options": (lambda limiter, v: limiter.report("k", 1, options=v), [None, 5]),
    "class": (lambda limiter, v: limiter.allow_class(v), [None, 5]),
    "timeout": (lambda limiter, v: limiter.with_options(timeout=v), [*NO_NUMBERS[1:], 0]),
    "when_down": (lambda limiter, v: limiter.with_options(when_down=v), [5, "", stint.fail_open]),
}


def new(**settings: Any) -> stint.Limiter:
    return stint.Limiter("redis://127.0.0.1:1", stint.fail_open(), **settings)


OF_NONE: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "timeout": (lambda v: new(timeout=v), NO_NUMBERS),
    "failures": (lambda v: new(failures=v), [*NO_INTEGERS, 0]),
    "cool_down": (lambda v: new(cool_down=v), [*NO_NUMBERS, -1, math.inf]),
    "assume": (lambda v: new(assume=v), [5, "x", [], {"p": None}, {"p": 5}, {"p": "5/s"}, {"p": [None]}]),
    "on_breaker": (lambda v: new(on_breaker=v), NO_FUNCTIONS),
    "on_decision": (lambda v: new(on_decision=v), NO_FUNCTIONS),
    "when_down, new": (lambda v: stint.Limiter("redis://127.0.0.1:1", v), [5, "", stint.fail_open]),
    "when_down, missing": (lambda v: v("redis://127.0.0.1:1"), [stint.Limiter, stint.AsyncLimiter]),
    "warn": (LIMIT.warn, [*NO_INTEGERS, "80%", 0, 101]),
    "where": (lambda v: stint.Limiter(v, stint.fail_open()), [None, 5, True, b"x", "", [], [None], [""]]),
    "async where": (lambda v: stint.AsyncLimiter(v, stint.fail_open()), [None, 5, [None]]),
    "tokens": (stint.per_second, NO_INTEGERS),
    "period": (lambda v: stint.per(5, v), NO_NUMBERS),
    "window": (lambda v: stint.window(5, v), [None, True, [], b"5", math.nan]),
    "sliding_window": (lambda v: stint.sliding_window(5, v), [None, True]),
    "sliding_log": (lambda v: stint.sliding_log(5, v), [None, True]),
    "ttl": (lambda v: stint.concurrency(5, v, "job"), [None, True, []]),
    "holder": (lambda v: stint.concurrency(5, 30, v), [*NO_TEXTS, ""]),
    "max_burst": (lambda v: stint.gcra(v, 5, 60), [*NO_INTEGERS, -1, 10**12]),
    "seconds": (lambda v: stint.gcra(5, 5, v), NO_INTEGERS),
    "burst": (LIMIT.burst, NO_INTEGERS),
    "queue": (LIMIT.queue, NO_INTEGERS),
    "member": (LIMIT.member, [None, 5, True, [], ""]),
    "weight": (lambda v: LIMIT.member("a", v), NO_INTEGERS),
    "least": (LIMIT.adaptive, NO_INTEGERS),
    "parse": (stint.parse, NO_LIMITS),
    "local_share": (stint.local_share, NO_NUMBERS),
    "on, limit": (lambda v: stint.on("k", v), NO_LIMITS),
    "on, cost": (lambda v: stint.on("k", LIMIT, cost=v), NO_INTEGERS[1:]),
    "on, keep": (lambda v: stint.on("k", LIMIT, keep=v), NO_PARTS),
    "keyed, keep": (lambda v: stint.Keyed("k", LIMIT, keep=v), NO_PARTS),
    "keyed, cost": (lambda v: stint.Keyed("k", LIMIT, v), NO_INTEGERS[1:]),
    "request, keep": (lambda v: stint.Request(keep=v), NO_PARTS),
    "request, tokens": (lambda v: stint.Request(tokens=v), NO_INTEGERS),
    "a word": (lambda v: encode(["ECHO", v]), [None, 5.5, True, [], math.nan]),
    "request, max_wait": (lambda v: stint.Request(max_wait=v), NO_NUMBERS),
    "request, remember": (lambda v: stint.Request(id="x", remember=v), NO_NUMBERS),
    "request, fields": (lambda v: stint.Request(fields=v), [None, 5, "x", ["a"], {5: "a"}]),
    "every": (lambda v: stint.ReportOptions(every=v), NO_NUMBERS[1:]),
    "down": (lambda v: stint.ReportOptions(down=v), NO_NUMBERS[1:]),
    "class, key": (lambda v: stint.Class(v, LIMIT, LIMIT, [ON]), NO_KEYS),
    "class, assured": (lambda v: stint.Class("k", v, LIMIT, [ON]), [None, 5, "5/s"]),
    "class, under": (lambda v: stint.Class("k", LIMIT, LIMIT, v), [None, 5, "x", [None], ON]),
    "ahead": (lambda v: stint.Leases(FakeLimiter(), ahead=v), NO_NUMBERS),
    "max_keys": (lambda v: stint.Leases(FakeLimiter(), max_keys=v), NO_INTEGERS),
    "pacer": (lambda v: Pacer(LIMIT, max_wait=v), NO_NUMBERS),
    "pause": (lambda v: Pacer(LIMIT, max_pause=v), NO_NUMBERS),
}


def each(table: dict[str, tuple[Any, list[Any]]]) -> list[Any]:
    return [pytest.param(call, v, id=f"{name}={v!r:.20}") for name, (call, values) in table.items() for v in values]


@pytest.mark.parametrize(("call", "value"), each(OF_NONE))
def test_wrong_types_are_refused(call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(stint.InvalidError, match="got "):
        call(value)


@pytest.mark.parametrize(("call", "value"), each(OF_A_LIMITER))
@pytest.mark.parametrize("kind", [FakeLimiter, FakeAsyncLimiter])
def test_wrong_types_of_a_call_are_refused(kind: type[Any], call: Call, value: Any) -> None:
    limiter = kind()
    limiter.server.execute = lambda words: pytest.fail(f"{words} was sent")

    async def run() -> None:
        answer = call(limiter, value)
        if inspect.isawaitable(answer):
            await answer

    with pytest.raises(stint.InvalidError):
        asyncio.run(run())


def test_real_limiters_refuse_a_wait_that_is_no_number() -> None:
    with new() as limiter, pytest.raises(stint.InvalidError, match="max_wait: must be a number of seconds, got None"):
        limiter.wait("k", LIMIT, max_wait=None)  # type: ignore[arg-type]


def test_errors_name_the_value_and_the_right_type() -> None:
    limiter: Any = FakeLimiter()
    with pytest.raises(stint.InvalidError, match='must be str or bytes, such as "user:7", got None'):
        limiter.allow(None, LIMIT)
    with pytest.raises(stint.InvalidError, match='must be a Limit or text such as "100/minute", got 5'):
        limiter.allow("k", 5)
    with pytest.raises(stint.InvalidError, match=r"timeout must be a number of seconds above 0, .*, got None"):
        new(timeout=None)


def test_a_wait_may_be_endless() -> None:
    assert FakeLimiter().wait("k", LIMIT, max_wait=math.inf).allowed
