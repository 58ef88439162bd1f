"""The callback for LiteLLM, without LiteLLM: cases that clients/compattest cannot bring about at the right moment."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType
from typing import Any

import pytest

import stint

from .servers import GRANTED, PATIENT, Scripted, cancel_before_reply


@pytest.fixture
def callback(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module, with stand-ins for those of LiteLLM that it uses."""

    async def count(**arguments: Any) -> dict[str, int]:
        return {"model": 1}

    parts: dict[str, dict[str, Any]] = {
        "litellm": {},
        "litellm.integrations": {},
        "litellm.integrations.custom_logger": {"CustomLogger": object},
        "litellm.proxy": {},
        "litellm.proxy.common_utils": {},
        "litellm.proxy.common_utils.proxy_rate_limit_error": {"ProxyRateLimitError": RuntimeError},
        "litellm.proxy.proxy_server": {"llm_router": None},
        "litellm.proxy.spend_tracking": {},
        "litellm.proxy.spend_tracking.budget_reservation": {
            "count_request_input_tokens": count,
            "estimate_request_max_cost": lambda **arguments: 0.0,
        },
    }
    for name, has in parts.items():
        module = ModuleType(name)
        module.__dict__.update(has)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "stint.agents.litellm", raising=False)
    import stint.agents.litellm as imported

    monkeypatch.delitem(sys.modules, "stint.agents.litellm")
    return imported


def test_a_call_canceled_before_the_answer_about_its_limits_is_given_back(scripted: Scripted, callback: Any) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limits = callback.RateLimit(limiter, lambda call: {"tokens": stint.on("t", "5/s")})
            call = limits.async_pre_call_hook(None, None, {"model": "model"}, "tool")
            await cancel_before_reply(scripted, call, GRANTED, {b"RL.CANCEL": b"*0"})

    asyncio.run(main())
    reserved, canceled = scripted.commands
    assert canceled == [b"RL.CANCEL", reserved[reserved.index(b"AS") + 1]]
