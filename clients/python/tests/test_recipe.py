"""The programs of docs/recipes: 200 calls at the same time stay within the budget."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stint

from .servers import Server

RECIPES = Path(__file__).parents[3] / "docs/recipes"
BUDGET = 60_000
FIELDS = {"tenant": "acme", "model": "large", "call": "nobody"}


def program_of(page: str, server: Server) -> Any:
    """Return the program of a page, for a server."""
    [source] = re.findall(r"^```python program\n(.*?)^```", (RECIPES / page).read_text(), re.MULTILINE | re.DOTALL)
    source = source.replace("redis://127.0.0.1:6379", server.url)
    assert server.url in source
    # A busy machine needs a longer deadline.
    return compile(source.replace("fail_closed())", "fail_closed(), timeout=60)"), page, "exec")


def test_budget_of_tokens(server: Server) -> None:
    spent = 0

    async def ask_the_model(prompt: str) -> tuple[str, int]:
        nonlocal spent
        if prompt == "fail":
            raise ConnectionError(prompt)
        await asyncio.sleep(0)
        spent += 5500
        return "hello", 5500

    program: dict[str, Any] = {"ask_the_model": ask_the_model}
    exec(program_of("llm-tokens.md", server), program)
    limiter, answer = program["limiter"], program["answer"]

    async def run() -> None:
        words = f"TB tokens:{{tenant}} {BUDGET} 1/h TB model:{{model}} 100000 1/h CC calls:{{tenant}} 200 10m {{call}}"
        await limiter._ask(stint.asks.command("RL.POLICY", "SET", "llm", *words.split()))
        with pytest.raises(ConnectionError):
            await answer("ann", "acme", "fail")
        outcomes = await asyncio.gather(*(answer("ann", "acme", "hi") for _ in range(200)))
        answers = outcomes.count("hello")
        assert spent == 5500 * answers
        assert answers + outcomes.count(None) == 200
        assert 7 <= answers <= 10  # 7 reservations of 8,000 fit; the 11th does not, even if all before are settled
        after = await limiter.check("llm", "ann", stint.Request(1, fields=FIELDS), peek=True)
        assert after.limits[0].remaining == BUDGET - spent - 1  # as if that one token were taken
        await limiter.close()

    asyncio.run(run())


def test_budget_in_money(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    page = (RECIPES / "budgets.md").read_text()
    [policy] = re.findall(r"^> (RL.POLICY SET budget .*)$", page, re.MULTILINE)
    budget = 1_000_000  # micro-dollars, in a window that does not end in the test
    words = policy.replace(" 500000000 ", f" {budget} ").replace("@month", "87600h").split()
    with stint.Limiter(server.url, stint.fail_closed(), timeout=60) as limiter:
        limiter._ask(stint.asks.command(*words))
        exec(program_of("budgets.md", server), {})
        tenant, user = limiter.policy_usage("budget", "acme", fields={"user": "ann"})
    *warnings, counts, first, second = capsys.readouterr().out.splitlines()
    answers = int(counts.split()[0])
    assert counts == f"{answers} answers, {200 - answers} denials"
    assert 6 <= answers <= 15  # 6 reservations of 150,000 fit; a 16th does not, even if all before are settled
    assert (tenant.used, tenant.reserved, tenant.remaining) == (58_500 * answers, 0, budget - 58_500 * answers)
    assert (user.used, user.reserved) == (tenant.used, 0)
    assert first == f"tenant:acme: ${tenant.used / 1e6:.4f} of $1.00"
    assert second == f"user:acme:ann: ${tenant.used / 1e6:.4f} of $50.00"
    assert warnings and set(warnings) == {"80 % of a budget of acme are used"}


@pytest.mark.parametrize("usage", [0, 480])
def test_stream_at_its_budget(server: Server, usage: int) -> None:
    page = (RECIPES / "streams.md").read_text()
    [policy] = re.findall(r"^> (RL.POLICY SET chat .*)$", page, re.MULTILINE)
    is_closed = []

    async def ask_the_model(question: str) -> AsyncIterator[SimpleNamespace]:
        try:
            for _ in range(15 if usage else 100):
                yield SimpleNamespace(text="chunk ", tokens=30, usage=0)
            yield SimpleNamespace(text="", tokens=0, usage=usage)
        finally:
            is_closed.append(True)

    program: dict[str, Any] = {"ask_the_model": ask_the_model}
    exec(program_of("streams.md", server), program)
    limiter, answer = program["limiter"], program["answer"]

    async def run() -> str:
        async with limiter:
            await limiter._ask(stint.asks.command(*policy.split()))
            text = "".join([text async for text in answer("ann", "q" * 30)])
            _, tokens = await limiter.policy_usage("chat", "ann")
            assert tokens.used == (usage or 990) and tokens.remaining == 1000 - tokens.used
            return text

    text = asyncio.run(run())
    assert is_closed == [True]
    if usage:
        assert text == "chunk " * 15
    else:
        assert re.fullmatch(r"(chunk ){32} \[ended after 990 tokens; go on in 86\d{3} s\]", text)
