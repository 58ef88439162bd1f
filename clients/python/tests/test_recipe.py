"""The program of docs/recipes/llm-tokens.md: 200 calls at the same time stay within the budget."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import stint

from .servers import Server

PAGE = (Path(__file__).parents[3] / "docs/recipes/llm-tokens.md").read_text()
BUDGET = 60_000
FIELDS = {"tenant": "acme", "model": "large", "call": "nobody"}


def test_budget(server: Server) -> None:
    [source] = re.findall(r"^```python program\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    source = source.replace("redis://127.0.0.1:6379", server.url)
    assert server.url in source
    spent = 0

    async def ask_the_model(prompt: str) -> tuple[str, int]:
        nonlocal spent
        if prompt == "fail":
            raise ConnectionError(prompt)
        await asyncio.sleep(0)
        spent += 5500
        return "hello", 5500

    program: dict[str, Any] = {"ask_the_model": ask_the_model}
    # A busy machine needs a longer deadline.
    exec(compile(source.replace("fail_closed())", "fail_closed(), timeout=20)"), "llm-tokens.md", "exec"), program)
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
