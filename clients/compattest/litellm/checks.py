"""Checks of LiteLLM's proxy in front of a model: its own limiter with Stint as its Redis, and Stint's callback.

    python checks.py STINT'S-ADDRESS NOBODY'S-ADDRESS CALLS

prints what it measures, and fails if a check does.
"""

import asyncio
import os
import re
import socket
import sys
import time
import traceback
from pathlib import Path

STINT, NOBODY, CALLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
HOST, PORT = STINT.split(":")
os.environ |= {"STINT": STINT, "NOBODY": NOBODY, "CALLS": sys.argv[3], "REDIS_HOST": HOST, "REDIS_PORT": PORT}
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "CRITICAL"}
# On a busy machine its own limiter would give up after 5 s, and let calls pass uncounted.
os.environ |= {"REDIS_SOCKET_TIMEOUT": "60", "REDIS_CONNECTION_POOL_TIMEOUT": "60", "REDIS_CIRCUIT_BREAKER_TIMEOUT_MIN_DURATION": "60"}
os.environ["CONFIG_FILE_PATH"] = str(Path(__file__).with_name("config.yaml"))

import httpx
import redis.asyncio
import stint
import uvicorn
from hooks import DOLLARS, MUCH, STREAM, TOKENS
from litellm.proxy._types import UserAPIKeyAuth
from model import Model

model = Model()
store = redis.asyncio.Redis.from_url(f"redis://{STINT}")
limiter = stint.AsyncLimiter(f"redis://{STINT}", stint.fail_closed(), timeout=30)

# As agents send them with each call. LiteLLM's estimate of a prompt leaves them out.
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"search_{i}",
            "description": f"Search collection number {i} for documents that have all of the words of the query.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string", "description": "Some words."}}},
        },
    }
    for i in range(30)
]


def serve(app) -> int:
    """Serve an application, and return its port. Connections wait until it has started."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_keep_alive=3600))
    serving.append(asyncio.create_task(server.serve([listener])))
    return listener.getsockname()[1]


serving = []


class Proxy:
    """The proxy, as a client of its HTTP interface sees it."""

    def __init__(self, port: int) -> None:
        limits = httpx.Limits(max_connections=None)
        self._http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits)

    async def call(self, user: str, **more) -> httpx.Response:
        body = {"model": "large", "messages": [{"role": "user", "content": "Hello?"}], "max_tokens": 100, **more}
        answer = await self._http.post("/chat/completions", json=body, headers={"Authorization": f"Bearer sk-{user}"})
        if answer.status_code != 200:
            model.arrived()
        return answer

    async def at_once(self, user: str, calls: int, **more) -> list[httpx.Response]:
        """Make calls at the same time: the model answers when all of them have come, or were refused."""
        model.begin(calls)
        return await asyncio.gather(*[self.call(user, **more) for _ in range(calls)])

    async def one(self, user: str, **more) -> httpx.Response:
        return (await self.at_once(user, 1, **more))[0]


def passed(answers: list[httpx.Response]) -> int:
    assert all(answer.status_code in (200, 429) for answer in answers), answers[0].text
    return sum(answer.status_code == 200 for answer in answers)


async def until(condition) -> None:
    """Wait for LiteLLM, which calls its callbacks after it has answered."""
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.01)


async def used(user: str) -> dict[str, int]:
    """Return what Stint has counted for a user."""
    counted = {}
    for name in ("calls", "tokens", "dollars"):
        state = await limiter.peek(f"{name}:{user}", f"FW {MUCH} 10d")
        counted[name] = MUCH - state.remaining - 1  # a peek shows what a request for one token would leave
    return counted


async def own_limiter(proxy: Proxy) -> None:
    """LiteLLM's own limiter counts in Stint, and lets no call beyond a limit of calls pass."""
    answers = await proxy.at_once("own-requests", 8)
    assert passed(answers) == 5, [answer.status_code for answer in answers]
    counters = await store.keys("{api_key:*}:requests")
    assert len(counters) == 1 and int(await store.get(counters[0])) >= 5, counters
    print(f"own limiter: 5 of 8 calls passed, counted in Stint by {counters[0].decode()[-9:]}")


async def overshoot(proxy: Proxy, what: str, limit: float, spent) -> None:
    """Calls at the same time spend more than LiteLLM's own limit, and no more than Stint's."""
    ratios = []
    for who in ("own", "stint"):
        answers = await proxy.at_once(f"{who}-{what}", CALLS, tools=TOOLS)
        count = passed(answers)
        assert count == len(model.usages) > 0
        ratios.append(spent() / limit)
        print(f"{who}: {count} of {CALLS} calls at once passed, and spent {ratios[-1]:.2f} of the {what}")
    assert ratios[0] > 1, "LiteLLM's own limiter is exact now: say so in the documentation"
    assert ratios[1] <= 1
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) > 0 and f'limit "{what}"' in refused.json()["error"]["message"]


async def settled(proxy: Proxy) -> None:
    """Usage is charged in place of what was reserved, also that of streams; a call that fails is free."""
    user, want = "stint-usage", {"calls": 0, "tokens": 0, "dollars": 0}
    for more in ({}, {"stream": True, "stream_options": {"include_usage": True}}, {"n": 3}):
        answer = await proxy.one(user, **more)
        assert answer.status_code == 200, answer.text
        usage = model.usages[0]
        want["calls"] += 1
        want["tokens"] += usage["total_tokens"]
        want["dollars"] += -(-(usage["prompt_tokens"] * 25 + usage["completion_tokens"] * 100) // 10)

        async def is_charged() -> bool:
            return await used(user) == want

        await until(is_charged)
    model.begin(1)
    model.fails = True
    assert (await proxy.call(user)).status_code == 500
    await until(is_charged)
    print(f"settled: {want}")


async def cut(proxy: Proxy) -> None:
    """A stream ends with an error when its budget is spent, and is charged what was delivered."""
    options = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 5000}
    answer = await proxy.one("stint-stream", **options)
    delivered = answer.text.count(" hello")
    assert answer.status_code == 200 and 'limit \\"tokens\\"' in answer.text, answer.text[-500:]
    assert '"code": "429"' in answer.text, answer.text[-500:]

    async def is_charged() -> bool:
        state = await limiter.peek("tokens:stint-stream", f"FW {STREAM} 10d")
        return delivered < STREAM - state.remaining - 1 <= STREAM and state.remaining < STREAM / 20

    await until(is_charged)
    assert (await proxy.one("stint-stream", **options)).status_code == 429
    print(f"stint: a stream was cut after {delivered} tokens of its answer")


async def without_stint(proxy: Proxy) -> None:
    """The limiter's fallback decides while Stint does not answer."""
    assert (await proxy.one("open-without-stint")).status_code == 200
    refused = await proxy.one("closed-without-stint")
    assert refused.status_code == 503 and refused.headers["retry-after"] == "1", refused.text
    print("without Stint: the fallback decides")


async def page() -> None:
    """The callback of the client's README limits a call."""
    text = (Path(__file__).parents[2] / "python" / "README.md").read_text()
    source = re.search(r"^```python litellm\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    names = {}
    exec(source.replace("redis://127.0.0.1:6379", f"redis://{STINT}").replace("timeout=2)", "timeout=30)"), names)
    key = UserAPIKeyAuth(user_id="ann", team_id="acme")
    request = {"model": "large", "messages": [{"role": "user", "content": "Hello?"}]}
    began = time.monotonic()
    await names["limits"].async_pre_call_hook(key, None, request, "acompletion")
    assert request["max_tokens"] == 4096
    left = [(await limiter.peek(k, limit)).remaining for k, limit in PAGE_LIMITS.items()]
    passed = time.monotonic() - began  # for 1,000 tokens and a third of a call a second
    assert 18 <= left[0] <= 18 + passed / 3 and 55_000 < left[1] < 60_000 - 4096 + 1000 * passed, (left, passed)
    assert 499_900_000 < left[2] < 499_960_000, left


PAGE_LIMITS = {"calls:ann": "20/minute", "tokens:ann": "60000/minute", "money:acme": "FW 500000000 @month"}


async def main() -> None:
    os.environ["UPSTREAM"] = f"http://127.0.0.1:{serve(model.app)}"
    from litellm.proxy.proxy_server import app

    proxy = Proxy(serve(app))
    await own_limiter(proxy)
    await overshoot(proxy, "tokens", TOKENS, lambda: model.tokens)
    await overshoot(
        proxy,
        "dollars",
        DOLLARS,
        lambda: sum(u["prompt_tokens"] * 2.5e-6 + u["completion_tokens"] * 1e-5 for u in model.usages),
    )
    await settled(proxy)
    await cut(proxy)
    await page()
    await without_stint(proxy)
    print("all checks passed", flush=True)


async def run() -> None:
    try:
        await main()
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(0)  # the proxy has tasks that do not end when they are cancelled


asyncio.run(run())
