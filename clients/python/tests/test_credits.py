"""Plans with credits, and the options of limits, on a server."""

from __future__ import annotations

import asyncio
import time

import pytest

import stint

from .servers import PATIENT, Server

NAME = "credits"


def test_a_plan_with_credits(shared_server: Server) -> None:
    """It is docs/recipes/credits.md."""
    key, later = NAME, int(time.time()) + 3600
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.credits(key) is None
        for _ in range(2):  # the second webhook of a payment
            assert limiter.add_credits(key, 1000, payment=f"{NAME}:81") == 1000
        assert limiter.add_credits(key, 50, payment=f"{NAME}:gift", expires=later) == 1050
        plan = [stint.on(f"{NAME}:hours", "FW 100 1h"), stint.on(key, stint.balance(), or_else=True)]
        call = stint.Request(130, id=f"{NAME}:call", remember=600, split=True)
        assert [state.granted for state in limiter.all(*plan, tokens=call).limits] == [100, 30]
        extended = limiter.extend(call.id, 1, 10, split=True)
        assert extended is not None and [state.granted for state in extended.limits] == [100, 40]
        charges = limiter.settle(call.id, 120)
        assert charges is not None and [charge.charged for charge in charges] == [100, 20]
        assert limiter.credits(key) == stint.Credits(1030, (stint.Credit(30, later), stint.Credit(1000, None)))
        wait, payment = limiter.all(*plan, tokens=1100), limiter.all(*plan, tokens=1200)
        assert not wait and not wait.needs_payment and 0 < wait.retry_after <= 3600
        assert not payment and payment.needs_payment and payment.result().needs_payment
        assert payment.retry_after == stint.NEVER
        with pytest.raises(stint.DeniedError, match="only a payment helps"):
            limiter.wait(key, "BAL", 1031)


def test_add_credits_in_a_loop(shared_server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            assert await limiter.add_credits(f"{NAME}:loop", 5, payment=f"{NAME}:loop:1") == 5
            assert await limiter.credits(f"{NAME}:loop") == stint.Credits(5, (stint.Credit(5, None),))

    asyncio.run(main())


@pytest.mark.parametrize(
    "limit",
    [
        stint.sliding_window(100, "5h", segments=20),
        stint.window(100, "@month", rollover=50).warn(80),
        stint.per_hour(100).spread(),
        stint.per_hour(100).queue(10).spread(),
        stint.window(100, "@day").spread(),
    ],
    ids=str,
)
def test_options_on_a_server(shared_server: Server, limit: stint.Limit) -> None:
    """The server takes them, and the calls that cannot have them."""
    key = f"{NAME}:{limit}"
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        assert limiter.allow(key, limit) and limiter.all(stint.on(key, limit))
        with stint.Leases(limiter) as leases:
            assert leases.allow(key, limit)
        if limit.corrects:
            assert limiter.at_most(key, limit, 40).remaining == 40
        else:
            with pytest.raises(stint.InvalidError, match="at_most needs"):
                limiter.at_most(key, limit, 40)


def test_what_is_refused() -> None:
    for make in (
        lambda: stint.on("k", "5/s", or_else=True),
        lambda: stint.sliding_window(5, "1h", segments=1),
        lambda: stint.window(5, "1h", rollover=50),
        lambda: stint.window(5, "@day", rollover=101),
        lambda: stint.sliding_log(5, "1h").spread(),
    ):
        with pytest.raises(stint.InvalidError):
            make()
