"""The keys of the proxy's users, and the callbacks that config.yaml names."""

import os

import stint
from litellm.proxy._types import UserAPIKeyAuth, hash_token
from stint.agents.litellm import Call, RateLimit

CALLS = int(os.environ["CALLS"])
TOKENS = 250 * CALLS  # of each key that is limited by tokens
DOLLARS = 1e-3 * CALLS  # of each key that is limited by money
MUCH = 10**12

# What LiteLLM's own limiter limits, by the name of a user. The other users have the limits of the callbacks.
OWN = {
    "own-requests": {"rpm_limit": 5},
    "own-tokens": {"tpm_limit": TOKENS},
    "own-dollars": {"model_max_budget": {"large": {"budget_limit": DOLLARS, "time_period": "1d"}}},
}
STREAM = 300  # tokens of a key whose streams are cut
BUDGETS = {
    "stint-tokens": (TOKENS, MUCH),
    "stint-dollars": (MUCH, round(DOLLARS * 1e6)),
    "stint-usage": (MUCH, MUCH),
    "stint-stream": (STREAM, MUCH),
}


async def auth(request, api_key: str) -> UserAPIKeyAuth:
    name = api_key.removeprefix("sk-")
    return UserAPIKeyAuth(api_key=api_key, token=hash_token(api_key), user_id=name, **OWN.get(name, {}))


def budgets(call: Call) -> dict[str, stint.Keyed]:
    name = call.key.user_id
    if name not in BUDGETS:
        return {}
    tokens, micro_dollars = BUDGETS[name]
    return {
        "calls": stint.on(f"calls:{name}", f"FW {MUCH} 10d", cost=1),
        "tokens": stint.on(f"tokens:{name}", f"FW {tokens} 10d"),
        "dollars": stint.on(f"dollars:{name}", f"FW {micro_dollars} 10d", cost=call.micro_dollars),
    }


def only(name: str):
    return lambda call: {"calls": stint.on("calls", "1/minute")} if call.key.user_id == name else {}


def limiter(server: str, policy: stint.Policy) -> stint.AsyncLimiter:
    return stint.AsyncLimiter(f"redis://{os.environ[server]}", policy, timeout=30)


limits = RateLimit(limiter("STINT", stint.fail_closed()), budgets, step=50)
open_without_stint = RateLimit(limiter("NOBODY", stint.fail_open()), only("open-without-stint"))
closed_without_stint = RateLimit(limiter("NOBODY", stint.fail_closed()), only("closed-without-stint"))
