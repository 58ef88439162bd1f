"""Transports for the limits of other services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pytest
import requests

import stint
from stint.web.httpx import AsyncPacedTransport, PacedTransport
from stint.web.pacing import News, Pacer, parse_retry_after
from stint.web.requests import PacedAdapter

from .servers import PATIENT, Server, Service

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


def test_reports_are_sums() -> None:
    now = [100.0]
    pacer = Pacer(LIMIT, clock=lambda: now[0])
    told = [pacer.hear("a", status, None) for status in (200, 200, 404, 429, 500, 503, 504)]
    assert told == [News(1, 0, 0.0), *[None] * 6]  # the first at once
    now[0] += 1
    assert pacer.hear("a", 200, None) == News(3, 3, 0.0)
    now[0] += 0.1
    assert pacer.hear("a", 429, "30") == News(0, 1, 30.0)  # a pause at once
    assert [pacer.hear("a", 429, "30") for _ in range(20)] == [None] * 20  # and once
    assert pacer.hear("b", 500, None) is None
    assert Pacer("10/s").hear("a", 429, "30") is None  # not adaptive
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


def test_retry_after() -> None:
    for text in (None, "", "soon", "-1", "1.5", "Tue, 99 Foo 2026"):
        assert parse_retry_after(text) == 0
    assert parse_retry_after(" 7 ") == 7
    assert parse_retry_after("Sat, 01 Jan 2000 00:00:09 GMT") == 0
