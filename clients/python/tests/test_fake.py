"""The fake makes the server's decisions."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from datetime import datetime, timezone

import pytest

import stint
from stint.errors import ServerError
from stint.testing import Clock, FakeAsyncLimiter, FakeLimiter, StintServer

from .servers import PATIENT, Server
from .test_vectors import FOLDER

# So slow that no token comes back during the test.
LIMITS = {
    "TB": "TB 20 7/9d",
    "FW": "FW 20 9d",
    "year": "FW 20 @year",
    "CC": "CC 3 9d {}",
}
DAY = 86400
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
    assert played == 1800


def test_several_limits_are_decided_as_by_the_server(shared_server: Server) -> None:
    rng, fake = random.Random(1), FakeLimiter(stint.fail_closed())
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        for i in range(100):
            if i % 10 == 0:
                prefix = f"fake-all:{i}:"
            chosen = rng.sample(["TB", "FW", "year"], rng.randint(1, 3))
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


@pytest.mark.parametrize(
    ("window", "end"),
    [("5s", 5.4), ("@15m", 900), ("@day", DAY), ("@week", 2 * DAY), ("@month", 31 * DAY), ("@quarter", 91 * DAY)],
)
def test_windows_end(window: str, end: float) -> None:
    """All tokens were taken 0.4 s after the beginning of Saturday, 1 January 2000."""
    begun = datetime(2000, 1, 1, tzinfo=timezone.utc).timestamp()
    fake, limit = FakeLimiter(clock=Clock(begun)), f"FW 3 {window}"
    fake.clock.advance(0.4)
    back = round(end - 0.4, 3)
    assert fake.allow("k", limit, 3).remaining == 0
    assert fake.allow("k", limit).retry_after == pytest.approx(back)
    fake.clock.advance(round(back - 0.001, 3))
    assert not fake.allow("k", limit)
    fake.clock.advance(0.001)
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


def test_a_plan_with_credits() -> None:
    """What a plan cannot give comes from credits, and a denial says what would help."""
    fake = FakeLimiter(stint.fail_closed())
    plan = [stint.on("hours", "FW 100 5h"), stint.on("credits", stint.balance(), or_else=True)]
    assert [fake.add_credits("credits", 50, payment="payment:81") for _ in range(2)] == [50, 50]
    answer = fake.all(*plan, tokens=stint.Request(130, split=True))
    assert [state.granted for state in answer.limits] == [100, 30]
    credits = fake.credits("credits")
    assert credits is not None and credits.balance == 20
    denied = fake.all(*plan, tokens=30)
    assert (denied.allowed, denied.needs_payment, denied.retry_after) == (False, False, 18000)
    assert fake.all(*plan, tokens=130).needs_payment


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("RL.TOP", "the fake server has no RL.TOP: it knows token buckets, "),
        ("RL.TOP", "; run this test on a real server, with stint.testing.StintServer"),
        ("AD.ACQUIRE k 20 2/1s 50/1s 1", "has no AD.ACQUIRE: it knows"),
        ("RL.USAGE k", "has no RL.USAGE: it knows"),
        ("RL.CHECK p a 1 KEEP 5", "has no KEEP in RL.CHECK: it knows"),
        ("RL.ALL TB k 10 1/h AS id FOR 1m", "has no AS in RL.ALL: it knows"),
        ("RL.ALL SL k 10 1h", "has no SL in RL.ALL: it knows"),
        ("RL.ALL PENALTY k 3 1m 10m", "has no PENALTY in RL.ALL: it knows"),
        ("SW.ACQUIRE k 10 1h 1", "has no SW without SEGMENTS: it knows"),
        ("BAL.ADD k 10 AS a EXPIRE 2000000000", "has no EXPIRE in BAL.ADD: it knows"),
        ("FW.ACQUIRE k 10 @month 1 TZ UTC", "has no TZ in FW.ACQUIRE: it knows"),
        ("RL.CHECK warns a 1", "has no limit FW 9 @day WARN 80%: it knows"),
        ("RL.CHECK none a 1", "no such policy 'none'; store it with set_policy"),
        ("RL.CHECK p a 1", "the policy needs the field 'region'"),
    ],
)
def test_what_the_fake_lacks(command: str, error: str) -> None:
    fake = FakeLimiter()
    fake.server.set_policy("p", ("{region}", "1/s"))
    fake.server.set_policy("warns", ("{}", "FW 9 @day WARN 80%"))
    reply = fake.server.execute(command.split())
    assert isinstance(reply, ServerError) and error in str(reply)


def test_a_request_takes_one_place_of_a_lease(shared_server: Server) -> None:
    limits = [stint.on("tokens:five", "10/hour"), stint.on("places:five", stint.concurrency(3, "30m", "a"))]
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as real:
        got, want = (limiter.all(*limits, tokens=5) for limiter in (FakeLimiter(), real))
    assert got.allowed and [(g.limit, g.remaining) for g in got.limits] == [(w.limit, w.remaining) for w in want.limits]


def test_a_settlement_that_comes_too_late_is_told(
    shared_server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stint.reserving._warned", threading.Event())
    limits, sync = (
        [stint.on("late", "TB 100 1/d")],
        stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT),
    )
    with sync as limiter:
        for identity in ("late:first", "late:second"):
            with limiter.reserving(limits, request=stint.Request(8, id=identity, remember=0.001)) as reserved:
                time.sleep(0.05)
                reserved.settle(3)
            assert reserved.charges is None
            assert "all that was reserved stays taken" in str(reserved.error)

    async def main() -> None:
        canceled = None
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            with pytest.raises(ZeroDivisionError):
                request = stint.Request(8, id="late:canceled", remember=0.001)
                async with limiter.reserving(limits, request=request) as canceled:
                    await asyncio.sleep(0.05)
                    raise ZeroDivisionError
            assert canceled is not None and "all that was reserved stays taken" in str(canceled.error)
            assert await limiter.settle("late:second", 3) is None

    asyncio.run(main())
    (warning,) = caplog.records
    assert (warning.levelname, "the request 'late:first' that was settled" in warning.getMessage()) == ("WARNING", True)


def test_a_real_server(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STINTTEST_BINARY", program)
    with StintServer() as server, stint.Limiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.allow("k", stint.per_second(10).adaptive(5)).source is stint.Source.SERVER
        assert server.url.endswith(f":{server.port}")
    assert server._process.returncode == 0
    with pytest.raises(stint.StintError, match=r"no server to start: .*/nowhere/stint.*; set STINTTEST_BINARY"):
        StintServer(binary="/nowhere/stint")
    with pytest.raises(stint.StintError, match=r"(?s)stint ended:\n.*nonsense"):
        StintServer(["--nonsense"])
