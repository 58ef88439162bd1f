"""The fake makes the server's decisions."""

from __future__ import annotations

import asyncio
import random
import threading
from datetime import datetime, timezone

import pytest

import stint
from stint.errors import ServerError
from stint.testing import Clock, FakeAsyncLimiter, FakeLimiter

from .servers import PATIENT, Server
from .test_vectors import FOLDER

# So slow that no token comes back during the test.
LIMITS = {
    "TB": "TB 20 7/9d",
    "LB": "LB 20 7/9d",
    "LQ": "LQ 9 1/9d",
    "CL": "CL 11 1 999999",
    "FW": "FW 20 9d",
    "SL": "SL 20 9d",
    "CC": "CC 3 9d {}",
}
ROUGH = 600.0  # seconds by which times may differ: the server's clock does not stand still


def near(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= ROUGH


@pytest.mark.parametrize("spec", LIMITS)
def test_random_calls_are_decided_as_by_the_server(shared_server: Server, spec: str) -> None:
    rng, fake = random.Random(spec), FakeLimiter(stint.fail_closed())
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        for i in range(200):
            if i % 25 == 0:
                key = f"fake:{spec}:{i}"
            limit = stint.parse(LIMITS[spec].format(rng.choice("abcde")))
            if spec == "TB" and rng.random() < 0.3:
                limit = stint.parse("TB 30 11/9d")  # the tokens taken so far carry over
            names = ["allow"]
            names += [
                n
                for n, option in {"peek": "PEEK", "force": "FORCE", "allow_at_most": "UPTO"}.items()
                if option in limit.algorithm.options
            ]
            name, n = rng.choice(names), rng.randint(1, 6) if limit.algorithm.takes_tokens else 1
            got, want = getattr(fake, name)(key, limit, n), getattr(real, name)(key, limit, n)
            about = f"{name} {n}: {got}, the server: {want}"
            assert want.source is stint.Source.SERVER
            assert (got.granted, got.limit, got.remaining) == (want.granted, want.limit, want.remaining), about
            assert near(got.retry_after, want.retry_after) and near(got.wait, want.wait), about
            assert near(got.reset_after, want.reset_after), about


def shown(reply: object) -> str:
    if isinstance(reply, list):
        return "[" + " ".join(map(shown, reply)) + "]"
    if isinstance(reply, bytes):
        return f'"{reply.decode()}"'
    if isinstance(reply, ServerError):
        return f"-{reply}"
    return "nil" if reply is None else str(reply)


def test_the_decisions_of_the_server() -> None:
    """Random requests at times of a clock, with the server's replies, to the millisecond."""
    clock = Clock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc).timestamp())
    fake, reply, played = FakeLimiter(clock=clock), "", 0
    for line in (FOLDER / "decisions.txt").read_text().splitlines():
        if line.startswith("> "):
            reply, played = shown(fake.server.execute(line.split()[1:])), played + 1
        elif line.startswith("advance "):
            clock.advance(int(line.split()[1].removesuffix("ms")) / 1000)
        elif not line.startswith("#"):
            assert reply == line, f"request {played}"
    assert played == 900


def test_several_limits_are_decided_as_by_the_server(shared_server: Server) -> None:
    rng, fake = random.Random(1), FakeLimiter(stint.fail_closed())
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        for i in range(100):
            if i % 10 == 0:
                prefix = f"fake-all:{i}:"
            chosen = rng.sample(["TB", "FW", "SL"], rng.randint(1, 3))
            keyed = [stint.on(prefix + spec, LIMITS[spec], cost=rng.choice([None, 0, 5])) for spec in chosen]
            n = rng.randint(1, 6)
            got, want = fake.all(*keyed, tokens=n), real.all(*keyed, tokens=n)
            assert (got.granted, got.binding) == (want.granted, want.binding), (got, want)
            assert [(s.limit, s.remaining) for s in got.limits] == [(s.limit, s.remaining) for s in want.limits]


def test_the_clock_is_exact() -> None:
    fake = FakeLimiter(clock=Clock(1_000_000_000))
    assert fake.allow("k", "1/s") and not fake.allow("k", "1/s")
    for _ in range(9):
        fake.clock.advance(0.1)
        assert not fake.allow("k", "1/s")
    fake.clock.advance(0.1)
    assert fake.allow("k", "1/s")


def test_a_sliding_window() -> None:
    fake, limit = FakeLimiter(clock=Clock(6000)), stint.sliding_window(10, 60)
    assert fake.allow("k", limit, 10).remaining == 0
    denied = fake.allow("k", limit, 1)
    assert denied.retry_after == pytest.approx(66.0)  # in the next window, a tenth of this one has gone
    fake.clock.advance(65.9)
    assert not fake.allow("k", limit)
    fake.clock.advance(0.1)
    assert fake.allow("k", limit)


def test_waits_set_the_clock_ahead() -> None:
    fake = FakeLimiter()
    begun = fake.clock.now()
    for _ in range(4):
        fake.wait("k", stint.per(1, 60).burst(1))
    assert fake.clock.now() - begun == 180


def test_policies_outages_and_asyncio() -> None:
    async def main() -> None:
        fake = FakeAsyncLimiter(stint.fail_closed())
        fake.server.set_policy("api", ("user:{}", "2/minute"), ("all", "FW 3 1h"))
        answers = [await fake.check("api", user) for user in ("a", "a", "a", "b", "b")]
        assert [(answer.allowed, answer.binding) for answer in answers] == [
            (True, -1), (True, -1), (False, 0), (True, -1), (False, 1),
        ]  # fmt: skip
        fake.is_down = True
        down = await fake.allow("k", "1/s")
        assert not down and down.source is stint.Source.FALLBACK

    asyncio.run(main())


def test_a_denied_request_shows_the_places_that_are_free(shared_server: Server) -> None:
    def ask(limiter: stint.Limiter | FakeLimiter) -> list[tuple[int, int]]:
        assert limiter.allow("places:jobs", stint.concurrency(3, "30m", "a"))
        day, places = stint.on("places:day", "1/day"), [stint.concurrency(3, "30m", holder) for holder in "bc"]
        answers = [limiter.all(stint.on("places:jobs", place), day) for place in places]
        assert [answer.allowed for answer in answers] == [True, False]
        return [(state.limit, state.remaining) for answer in answers for state in answer.limits]

    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert ask(FakeLimiter()) == ask(limiter) == [(3, 1), (1, 0), (3, 1), (1, 0)]


def test_policies_warn_as_the_server(shared_server: Server) -> None:
    limits = {
        "budget:{}": "FW 300 @3650d HISTORY 2 WARN 80%",
        "team:{}:{region}": "FW 400 @3650d",
        "tokens:{}": "TB 500 7/9d WARN 50%",
    }
    rng, fake, region, warned = random.Random(5), FakeLimiter(stint.fail_closed()), {"region": "eu"}, 0
    fake.server.set_policy("budget", *limits.items())
    words = [word for key, limit in limits.items() for word in (limit[:2], key, *limit[3:].split())]
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        real._ask(stint.asks.command("RL.POLICY", "SET", "budget", *words))
        for i in range(40):
            request = stint.Request(rng.randint(1, 30), fields=region, show_warn=i % 3 > 0)
            got, want = (limiter.check("budget", "acme", request) for limiter in (fake, real))
            assert (got.allowed, got.binding) == (want.allowed, want.binding), (got, want)
            for g, w in zip(got.limits, want.limits, strict=True):
                assert (g.remaining, g.warn) == (w.remaining, w.warn), i
                warned += g.warn
            for caller in ("acme", "other"):
                usages = [limiter.policy_usage("budget", caller, fields=region) for limiter in (fake, real)]
                assert usages[0] == usages[1]
    assert warned


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("RL.TOP", "the fake server has no RL.TOP: take a real server"),
        ("RL.CHECK p a 1 KEEP 5", "no KEEP in RL.CHECK: take a real server"),
        ("RL.ALL TB k 10 1/h AS id FOR 1m PEEK", "PEEK: cannot be combined with AS"),
        ("RL.CHECK none a 1", "no such policy 'none'; store it with set_policy"),
        ("RL.POLICY USAGE p a", "the policy needs the field 'region'"),
        ("FW.ACQUIRE k 10 @month 1 TZ Mars/Olympus", "knows no zone 'Mars/Olympus'"),
    ],
)
def test_what_the_fake_lacks(command: str, error: str) -> None:
    fake = FakeLimiter()
    fake.server.set_policy("p", ("{region}", "1/s"))
    reply = fake.server.execute(command.split())
    assert isinstance(reply, ServerError) and error in str(reply)


def test_a_request_takes_one_place_of_a_lease(shared_server: Server) -> None:
    limits = [stint.on("tokens:five", "10/hour"), stint.on("places:five", stint.concurrency(3, "30m", "a"))]
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        got, want = (limiter.all(*limits, tokens=5) for limiter in (FakeLimiter(), real))
    assert got.allowed and [(g.limit, g.remaining) for g in got.limits] == [(w.limit, w.remaining) for w in want.limits]


def test_a_settlement_that_comes_too_late_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stint.reserving._warned", threading.Event())
    fake, limits = FakeLimiter(), [stint.on("k", "TB 100 1/d")]
    for identity in ("first", "second"):
        with fake.reserving(limits, request=stint.Request(8, id=identity, remember=60)) as reserved:
            fake.clock.advance(120)
            reserved.settle(3)
        assert reserved.charges is None
        assert "all that was reserved stays taken" in str(reserved.error)

    async def main() -> None:
        canceled, fake = None, FakeAsyncLimiter()
        with pytest.raises(ZeroDivisionError):
            async with fake.reserving(limits, request=stint.Request(8, id="canceled", remember=60)) as canceled:
                fake.clock.advance(120)
                raise ZeroDivisionError
        assert canceled is not None and "all that was reserved stays taken" in str(canceled.error)
        assert await fake.settle("second", 3) is None

    asyncio.run(main())
    (warning,) = caplog.records
    assert (warning.levelname, "the request 'first' that was settled" in warning.getMessage()) == ("WARNING", True)
