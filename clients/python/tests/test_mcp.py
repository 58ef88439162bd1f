"""The middleware for MCP servers, by the SDK's client: in memory, and over HTTP with access tokens."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import redis
import uvicorn
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.types import Implementation
from pydantic import AnyHttpUrl

import stint
from stint.agents.mcp import LIMIT_EXCEEDED, RATE_LIMITED, Call, RateLimit, spend, used

from .budgets import Budget
from .servers import GRANTED, PATIENT, Scripted, Server, cancel_before_reply


def make_server(limit: RateLimit, **more: Any) -> MCPServer[Any]:
    made: MCPServer[Any] = MCPServer("library", middleware=[limit], log_level="CRITICAL", **more)

    @made.tool()
    def search(words: str) -> str:
        return f"found {words}"

    @made.tool()
    async def ask(tokens: int) -> str:
        used(tokens - 1)
        used(1)
        return "answered"

    @made.tool()
    def ask_in_thread(tokens: int) -> str:
        used(tokens)
        return "answered"

    @made.tool()
    async def stream(chunks: int) -> str:
        for _ in range(chunks):
            await spend(10)
        return "answered"

    @made.tool()
    def fail() -> str:
        raise RuntimeError("this tool is broken")

    return made


def by_tool(most: int) -> Callable[[Call], dict[str, stint.Keyed]]:
    return lambda call: {
        "calls of this tool": stint.on(f"tool:{call.agent}:{call.tool}", "2/day"),
        "calls of this server": stint.on("server:library", f"{most}/day"),
    }


async def refusal(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(tool, arguments or {"words": "x"})
    assert caught.value.code == LIMIT_EXCEEDED
    return caught.value


async def passes(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> None:
    assert not (await client.call_tool(tool, arguments or {"words": "x"})).is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_and_server(server: Server, mode: str) -> None:
    async def main() -> None:
        limiter = stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT)
        async with limiter, Client(make_server(RateLimit(limiter, by_tool(3))), mode=mode) as client:
            await passes(client, "search")
            await passes(client, "search")
            denied = await refusal(client, "search")
            assert denied.message.startswith(
                'The call of the tool search was denied by the limit "calls of this tool": 0 of 2 are left. Try'
            )
            after = denied.data.pop("retry_after_seconds")
            assert after - 1 < denied.data.pop("retryAfterMs") / 1000 <= after
            assert 1 <= after <= 43_200 and denied.message.endswith(f"again in {after} seconds.")
            assert denied.data == {
                "tool": "search", "limit": "calls of this tool", "remaining": 0, "capacity": 2
            }  # fmt: skip
            # All or nothing: what the tool's limit denied, the server's has not counted.
            await passes(client, "ask", {"tokens": 1})
            denied = await refusal(client, "ask", {"tokens": 1})
            assert denied.data["limit"] == "calls of this server" and denied.data["remaining"] == 0
            assert len((await client.list_tools()).tools) == 5

    asyncio.run(main())


class Tokens:
    """Verifies tokens such as "ann by web": a subject, and the client that it uses."""

    async def verify_token(self, token: str) -> AccessToken | None:
        subject, _, client = token.partition(" by ")
        return AccessToken(token=token, client_id=client, scopes=[], subject=subject or None, claims={"iss": "here"})


@asynccontextmanager
async def over_http(limit: RateLimit) -> AsyncIterator[Callable[..., Any]]:
    """Serve MCP over HTTP, and yield a function that connects with a token and a name."""
    here = AnyHttpUrl("http://127.0.0.1:1")
    auth = AuthSettings(issuer_url=here, resource_server_url=here, validate_token_resource=False)
    app = make_server(limit, auth=auth, token_verifier=Tokens()).streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))  # connections wait in its queue until it is served
    port = listener.getsockname()[1]
    service = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    serving = asyncio.create_task(service.serve([listener]))

    @asynccontextmanager
    async def connect(token: str, name: str, mode: str) -> AsyncIterator[Client]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            info = Implementation(name=name, version="1")
            async with Client(transport, mode=mode, client_info=info) as client:
                yield client

    yield connect
    service.should_exit = True
    await serving


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_agents_are_known_by_their_tokens(server: Server, mode: str) -> None:
    seen: list[str] = []

    def limits(call: Call) -> dict[str, stint.Keyed]:
        seen.append(call.agent)
        return by_tool(100)(call)

    async def main() -> None:
        limiter = stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT)
        async with limiter, over_http(RateLimit(limiter, limits)) as connect:
            async with connect("ann by web", "one", mode) as client:
                await passes(client, "search")
            # Neither another session, nor another name, nor another client of the same user is another agent.
            async with connect("ann by cli", "another", mode) as client:
                await passes(client, "search")
                await refusal(client, "search")
            async with connect("bob by web", "one", mode) as client:
                await passes(client, "search")
            async with connect(" by web", "one", mode) as client:
                await passes(client, "search")

    asyncio.run(main())
    assert seen == ["subject:here:ann"] * 3 + ["subject:here:bob", "client:web"]


def test_budgets_are_settled(server: Server) -> None:
    def limits(call: Call) -> dict[str, stint.Keyed]:
        return {
            "calls": stint.on("calls", "FW 100 10d", cost=1),
            "tokens of this conversation": stint.on("tokens", "FW 10000 10d"),
        }

    async def main() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:

            async def left() -> tuple[int, int]:
                states = (await limiter.all(*limits(None).values(), peek=True)).limits  # type: ignore[arg-type]
                return states[0].remaining + 1, states[1].remaining + 1

            async with Client(make_server(RateLimit(limiter, limits, most=lambda call: 2000))) as client:
                await passes(client, "ask", {"tokens": 1500})
                assert await left() == (99, 8500)
                await passes(client, "ask_in_thread", {"tokens": 2500})  # it needed more than it had reserved
                assert await left() == (98, 6000)
                await passes(client, "ask", {"tokens": 4500})
                assert await left() == (97, 1500)
                denied = await refusal(client, "ask", {"tokens": 1})
                assert denied.data["limit"] == "tokens of this conversation" and denied.data["remaining"] == 1500
                assert await left() == (97, 1500)
                await limiter.reset("tokens")
                await passes(client, "search")  # it says nothing
                assert (await client.call_tool("fail", {})).is_error
                assert await left() == (95, 6000)

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_canceled_calls_are_settled(server: Server, mode: str) -> None:
    async def main() -> None:
        limiter = stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT)
        limit = RateLimit(limiter, lambda call: {"tokens": stint.on("t", "FW 10000 10d")}, most=lambda call: 2000)
        made, begun = make_server(limit), asyncio.Event()

        @made.tool()
        async def hang() -> None:
            used(500)
            begun.set()
            await asyncio.Event().wait()

        async with limiter:
            async with Client(made, mode=mode) as client:
                calling = asyncio.create_task(client.call_tool("hang", {}))
                await begun.wait()
                calling.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await calling
            # The server has ended with its client.
            assert (await limiter.peek("t", "FW 10000 10d")).remaining == 10000 - 500 - 1

    asyncio.run(main())


def test_a_call_canceled_before_the_answer_about_its_limits_is_given_back(scripted: Scripted) -> None:
    async def call_next(context: Any) -> Any:
        raise AssertionError("the tool was called")

    async def main() -> None:
        context: Any = SimpleNamespace(method="tools/call", params={"name": "search"})
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limit = RateLimit(limiter, "tools", most=lambda call: 5, agent=lambda context: "ann")
            await cancel_before_reply(scripted, limit(context, call_next), GRANTED, {b"RL.CANCEL": b"*0"})

    asyncio.run(main())
    reserved, canceled = scripted.commands
    assert canceled == [b"RL.CANCEL", reserved[reserved.index(b"AS") + 1]]


def test_policies(server: Server) -> None:
    def most(call: Call) -> int:
        return 1 if call.tool == "search" else 5000

    def fields(call: Call) -> dict[str, str]:
        return {"tool": call.tool, "conversation": str((call.context.meta or {}).get("conversation", ""))}

    async def main() -> None:
        policy = "RL.POLICY SET tools TB tool:{}:{tool} 1 1/d COST 1 FW tokens:{}:{conversation} 5000 10d"
        with redis.Redis.from_url(server.url) as admin:
            admin.execute_command(policy)
        async with stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limit = RateLimit(limiter, "tools", most=most, fields=fields, agent=lambda context: "ann")
            async with Client(make_server(limit)) as client:
                await passes(client, "search")
                denied = await refusal(client, "search")
                assert denied.data["limit"] == "tools 1" and denied.data["capacity"] == 1
                assert (await refusal(client, "ask", {"tokens": 1})).data["limit"] == "tools 2"
                meta: Any = {"conversation": "b"}
                assert not (await client.call_tool("ask", {"tokens": 1}, meta=meta)).is_error
            anonymous = RateLimit(limiter, "tools", most=most, fields=fields)
            async with Client(make_server(anonymous)) as client:
                await passes(client, "search")
            named = RateLimit(limiter, "tools", most=most, fields=fields, agent=lambda context: "ann", names=["calls"])
            async with Client(make_server(named)) as client:
                denied = await refusal(client, "search")
                assert denied.message.startswith('The call of the tool search was denied by the limit "calls": 0 of 1')
                assert 0 < denied.data["retry_after_seconds"] <= 86_400
                assert (await refusal(client, "ask", {"tokens": 1})).data["limit"] == "tools 2"
            for limits, names in (("tools", "calls"), (by_tool(1), ["calls"])):
                with pytest.raises(stint.InvalidError, match="names: must be those of the limits of a policy"):
                    RateLimit(limiter, limits, names=names)

    asyncio.run(main())


def test_more_than_a_limit_ever_grants(server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limit = RateLimit(limiter, lambda call: {"tokens": stint.on("t", "10/minute")}, most=lambda call: 11)
            async with Client(make_server(limit)) as client:
                denied = await refusal(client, "search")
                assert "ever grants, 10. Do not repeat" in denied.message
                assert denied.data["retry_after_seconds"] is None and "retryAfterMs" not in denied.data
            paid = RateLimit(limiter, lambda call: {"credits": stint.on("c", stint.balance())})
            async with Client(make_server(paid)) as client:
                denied = await refusal(client, "search")
                assert 'needs more credits than "credits" has, 0' in denied.message
            drafted = RateLimit(limiter, by_tool(3), most=lambda call: 4, code=RATE_LIMITED)
            async with Client(make_server(drafted)) as client:
                assert "retryAfterMs" not in (await refusal(client, "search")).data  # it keeps its code

    asyncio.run(main())


def test_without_stint(server: Server) -> None:
    async def main() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_open(), timeout=PATIENT) as limiter:
            server.kill()
            async with Client(make_server(RateLimit(limiter, by_tool(1), most=lambda call: 1))) as client:
                await passes(client, "ask", {"tokens": 1})
                await passes(client, "ask", {"tokens": 1})
            closed = RateLimit(limiter.with_options(when_down=stint.fail_closed()), by_tool(1))
            async with Client(make_server(closed)) as client:
                denied = await refusal(client, "search")
                assert denied.message == (
                    "The call of the tool search cannot be counted at present. Try again in 1 second."
                )
                assert denied.data["limit"] is None and denied.data["retry_after_seconds"] == 1

    asyncio.run(main())


def test_the_code_of_a_draft(server: Server) -> None:
    """Its limit and remaining are numbers, or absent."""

    async def main() -> None:
        async with stint.AsyncLimiter(server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            async with Client(make_server(RateLimit(limiter, by_tool(3), code=RATE_LIMITED))) as client:
                await passes(client, "search")
                await passes(client, "search")
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("search", {"words": "x"})
                assert caught.value.code == -32023 and caught.value.data.pop("retryAfterMs") <= 43_200_000
                del caught.value.data["retry_after_seconds"]
                named = {"tool": "search", "limitName": "calls of this tool", "capacity": 2}
                assert caught.value.data == named | {"limit": 2, "remaining": 0}
            server.kill()
            async with Client(make_server(RateLimit(limiter, by_tool(3), code=RATE_LIMITED))) as client:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("search", {"words": "x"})
                assert caught.value.code == -32023
                assert caught.value.data == {"tool": "search", "retry_after_seconds": 1, "retryAfterMs": 1000}

    asyncio.run(main())


def test_tools_that_spend(scripted: Scripted) -> None:
    """A call reserves a step at a time, and is charged what it has spent, or what it says that it used."""
    budget = Budget(scripted, 1000)

    async def main() -> None:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:

            def limits(call: Call) -> dict[str, stint.Keyed]:
                return {} if call.tool == "fail" else {"tokens": stint.on("t", "FW 1000 10d")}

            async with Client(make_server(RateLimit(limiter, limits, step=100))) as client:
                await passes(client, "stream", {"chunks": 25})
                await passes(client, "ask", {"tokens": 300})
                await passes(client, "search")  # it says nothing
                assert sorted(budget.charged.values()) == [0, 250, 300] and not budget.held
                assert (await client.call_tool("fail", {})).is_error
                cut = await client.call_tool("stream", {"chunks": 100})
                assert cut.is_error and "the budget is spent after 450 tokens" in str(cut.content)
                denied = await refusal(client, "stream", {"chunks": 1})
                assert denied.data["limit"] == "tokens" and denied.data["retryAfterMs"] == 30_000
            with pytest.raises(stint.InvalidError, match="not both"):
                RateLimit(limiter, limits, step=100, most=lambda call: 5)
            policy = RateLimit(limiter, "tools", step=100, fields=lambda call: {"tool": call.tool, "of": ""})
            async with Client(make_server(policy)) as client:
                assert (await refusal(client, "stream", {"chunks": 1})).data["limit"] == "tools 1"

    asyncio.run(main())
    assert scripted.commands[-1][-5:] == [b"WITH", b"of", b"anonymous", b"tool", b"stream"]
    assert budget.left == 0
