"""Transports for the limits of other services."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pytest
import requests

import stint
from stint.web.httpx import AsyncPacedTransport, PacedTransport
from stint.web.pacing import Left, News, Pacer
from stint.web.provider import follow, follow_async, read_limits, read_pause
from stint.web.requests import PacedAdapter

from .servers import PATIENT, Scripted, Server, Service
from .test_vectors import FOLDER

LIMIT = stint.per_second(100).adaptive(2)


Fetch = Callable[[str], int]


def with_httpx(url: str, limit: stint.Limit, max_wait: float) -> Fetch:
    limiter = stint.Limiter(url, stint.fail_closed(), timeout=PATIENT)
    transport = PacedTransport(limiter, limit, max_wait=max_wait, max_pause=3600)
    return lambda page: httpx.Client(transport=transport).get(page).status_code


def with_asyncio(url: str, limit: stint.Limit, max_wait: float) -> Fetch:
    async def fetch(page: str) -> int:
        async with stint.AsyncLimiter(url, stint.fail_closed(), timeout=PATIENT) as limiter:
            transport = AsyncPacedTransport(limiter, limit, max_wait=max_wait, max_pause=3600)
            async with httpx.AsyncClient(transport=transport) as client:
                return (await client.get(page)).status_code

    return lambda page: asyncio.run(fetch(page))


def with_requests(url: str, limit: stint.Limit, max_wait: float) -> Fetch:
    limiter = stint.Limiter(url, stint.fail_closed(), timeout=PATIENT)
    session = requests.Session()
    session.mount("http://", PacedAdapter(limiter, limit, max_wait=max_wait, max_pause=3600))
    return lambda page: session.get(page).status_code


CLIENTS = [with_httpx, with_asyncio, with_requests]


@pytest.mark.parametrize("second", CLIENTS)
@pytest.mark.parametrize("first", CLIENTS)
def test_one_pause_stops_the_fleet(shared_server: Server, service: Service, first: object, second: object) -> None:
    """Two clients with separate limiters stand for two processes."""
    assert callable(first) and callable(second)
    service.status, service.retry_after = 429, "1800"
    assert first(shared_server.url, LIMIT, 5.0)(service.url) == 429
    with pytest.raises(stint.WouldExceedDeadlineError):
        second(shared_server.url, LIMIT, 5.0)(service.url)
    assert service.came == 1


@pytest.mark.parametrize(
    ("says", "least", "most"),
    [
        ("600", 500, 600),
        ("", 1500, 1800),
        ("4000000000", 3500, 3600),
        ("9" * 4000, 3500, 3600),
    ],
    ids=["seconds", "date", "too long", "absurd"],
)
def test_pauses_are_bounded(shared_server: Server, service: Service, says: str, least: float, most: float) -> None:
    in_half_an_hour = datetime.now(timezone.utc) + timedelta(minutes=30)  # of now: other tests may have taken minutes
    service.status, service.retry_after = 503, says or format_datetime(in_half_an_hour, usegmt=True)
    with_requests(shared_server.url, LIMIT, 5.0)(service.url)
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        pace = limiter.report(f"http:{service.host}")
        assert pace is not None and least <= pace.pause <= most


def test_the_others_go_on_after_the_pause(shared_server: Server, service: Service) -> None:
    service.status, service.retry_after = 429, "1"
    with_httpx(shared_server.url, LIMIT, 20.0)(service.url)
    service.status, service.retry_after = 200, ""
    assert with_requests(shared_server.url, LIMIT, 20.0)(service.url) == 200
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        pace = limiter.report(f"http:{service.host}")
        assert pace is not None and pace.pause == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_a_queue_and_the_own_pause(shared_server: Server, service: Service, client: object) -> None:
    assert callable(client)
    fetch = client(shared_server.url, stint.per_second(1000).queue(50), 5.0)
    assert [fetch(service.url) for _ in range(5)] == [200] * 5 and service.came == 5


def nothing(name: str) -> None:
    return None


def test_reports_are_sums() -> None:
    now = [100.0]
    pacer = Pacer(LIMIT, clock=lambda: now[0])
    told = [pacer.hear("a", status, nothing) for status in (200, 200, 404, 429, 500, 503, 504)]
    assert told == [News(1, 0, 0.0), *[None] * 6]  # the first at once
    now[0] += 1
    assert pacer.hear("a", 200, nothing) == News(3, 3, 0.0)
    now[0] += 0.1
    assert pacer.hear("a", 429, {"Retry-After": "30"}.get) == News(0, 1, 30.0)  # a pause at once
    assert [pacer.hear("a", 429, {"Retry-After": "30"}.get) for _ in range(20)] == [None] * 20  # and once
    assert pacer.hear("b", 500, nothing) is None
    assert Pacer("10/s").hear("a", 429, {"Retry-After": "30"}.get) is None  # not adaptive
    with pytest.raises(stint.WouldExceedDeadlineError):
        pacer.max_wait = 20
        next(pacer.turn("a"))


def test_a_lost_report_is_no_error(service: Service) -> None:
    limiter = stint.Limiter("redis://127.0.0.1:1", stint.fail_open())
    session = requests.Session()
    session.mount("http://", PacedAdapter(limiter, LIMIT))
    assert session.get(service.url).status_code == 200
    limiter = limiter.with_options(when_down=stint.fail_closed())
    session.mount("http://", PacedAdapter(limiter, LIMIT))
    with pytest.raises(stint.DeniedError):
        session.get(service.url)


def test_what_services_say() -> None:
    file = json.loads((FOLDER / "provider.json").read_text("utf-8"))
    now = file["now_ms"] / 1000
    for case in file["cases"]:
        field = httpx.Headers(case["headers"]).get
        limits = read_limits(field, now)
        said = []
        for one in limits:
            after = None if one.reset_after is None else round(one.reset_after * 1000)
            parts = {"unit": one.unit, "remaining": one.remaining, "limit": one.limit, "reset_ms": after}
            said.append({name: value for name, value in parts.items() if value is not None})
        assert said == case["limits"], case["name"]
        assert round(read_pause(case["status"], field, limits, now) * 1000) == case["pause_ms"], case["name"]


def test_no_times() -> None:
    for text in (None, "", "soon", "-1", "1.5", "Tue, 99 Foo 2026"):
        fields = {} if text is None else {"Retry-After": text}
        assert read_pause(429, fields.get) == 0
    for text in ("", "-5", "1d", "5s ", "99999-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "9" * 4000):
        reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": text}
        assert all(one.reset_after in (None, 5.0) for one in read_limits(reset.get)), text


def test_a_limit_follows_the_service() -> None:
    """Only one that has more than the service, and only to its requests."""

    def told(limit: str, **fields: str) -> object:
        pacer = Pacer(limit)
        steps = pacer.turn("a")
        next(steps)
        steps.send(stint.Reservation(stint.Result(True, 1, 100, 90), "a"))
        return pacer.hear("a", 200, {name.replace("_", "-"): value for name, value in fields.items()}.get)

    assert told("100/m", X_RateLimit_Remaining="40") == Left(40)
    assert told("FW 100 @minute", RateLimit='"m";r=7;t=3') == Left(7)
    assert told("100/m", X_RateLimit_Remaining="95") is None
    assert told("100/m", X_RateLimit_Remaining_Tokens="3") is None
    assert told("LQ 100 100/s", X_RateLimit_Remaining="3") is None


def test_follow(scripted: Scripted) -> None:
    scripted.reply = lambda words: b"*5\r\n:60\r\n:100\r\n:40\r\n:0\r\n:6000"
    fields = {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "1m30s"}
    fields |= {"X-RateLimit-Remaining-Tokens": "40"}
    limits = {"requests": stint.on("r", "100/m"), "tokens": stint.on("t", "FW 100 @minute")}
    with stint.Limiter(scripted.url, stint.fail_open(), timeout=PATIENT) as limiter:
        assert follow(limiter, 200, fields.get, limits) == 90
        assert limiter.at_most("r", "100/m", 40) == stint.Result(True, 60, 100, 40, reset_after=6.0)
        for limit, n in (("LQ 5 1/s", 1), ("100/m", -1), ("CC 1 1s h", 0)):
            with pytest.raises(stint.InvalidError):
                limiter.at_most("k", limit, n)

    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_open(), timeout=PATIENT) as limiter:
            assert await follow_async(limiter, 200, fields.get, limits) == 90

    asyncio.run(main())
    first = [b"RL.ATMOST", b"r", b"TB", b"100", b"100/m", b"0"]
    assert scripted.commands[:2] == [first, [b"RL.ATMOST", b"t", b"FW", b"100", b"@minute", b"40"]]
    assert scripted.commands[3] == first
