"""Middleware for MCP servers of the official SDK: limits of agents, tools and servers, and budgets of tokens.

server = MCPServer("library", middleware=[
    RateLimit(limiter, lambda call: {
        "calls of this tool": stint.on(f"tool:{call.agent}:{call.tool}", "10/minute"),
        "calls of this server": stint.on("server:library", "100/minute"),
    })
])
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from ..aio import AsyncLimiter
from ..aiostream import AsyncStream
from ..asks import ANONYMOUS, Keyed, Request
from ..errors import InvalidError, StintError, UnavailableError
from ..results import MultiResult
from ..slices import BudgetSpentError
from .named import Limits, checked, denial

log = logging.getLogger("stint")

LIMIT_EXCEEDED = -32005
"""The code of the JSON-RPC error, from the range that MCP leaves to implementations."""

RATE_LIMITED = -32023
"""The code of SEP-3304, a draft, which is only for calls that may be repeated. Choose it with RateLimit(code=…)."""

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True)
class Call:
    """A call of a tool. context is that of the SDK; what the client says in it about itself is not verified."""

    agent: str
    tool: str
    arguments: Mapping[str, Any]
    context: Context


def by_token(context: Context) -> str:
    """Identify an agent by its access token, which the server has verified: by its subject, else by its client.

    Without one the agent is "": all of them share their limits. On stdio that is the process that started the server.
    """
    token = get_access_token()
    if token is None:
        return ""
    if token.subject is None:
        return "client:" + quote(token.client_id, safe="")
    issuer = str((token.claims or {}).get("iss", ""))
    return f"subject:{quote(issuer, safe='')}:{quote(token.subject, safe='')}"


class _Usage:
    """The tokens that one call has used, None as long as it has not said so."""

    def __init__(self) -> None:
        self.tokens: int | None = None
        self.stream: AsyncStream | None = None


_current: ContextVar[_Usage | None] = ContextVar("stint_usage", default=None)


def used(tokens: int) -> None:
    """Say in a tool that this call has used so many tokens, besides those said before."""
    if tokens < 0:
        raise InvalidError(f"used: the tokens must be 0 or more, got {tokens!r}")
    usage = _current.get()
    if usage is not None:
        usage.tokens = (usage.tokens or 0) + tokens


async def spend(tokens: int) -> None:
    """Count tokens in a tool before it uses them. ToolError: a limit denies them; leave it to the model to read.

    That is for a RateLimit with step; with another, it is used().
    """
    usage = _current.get()
    if usage is None or usage.stream is None:
        used(tokens)
        return
    try:
        await usage.stream.add(tokens)
    except BudgetSpentError as denied:
        raise ToolError(str(denied)) from denied


class RateLimit:
    """Limits the calls of tools.

    limits returns the limits of a call by the names that a denied agent reads, {} for none; or it is the name of a
    policy on the server, whose fields are the result of the function fields, where "" becomes "anonymous"; then names
    are those that a denied agent reads, in the order of the policy's limits. With most, a call takes the most tokens
    that it may use from each limit without a cost, and is charged what it used(), once it has ended within remember
    seconds. A call that does not say what it used is charged all that it took, also if it fails.

    With step instead of most, a call takes that many tokens at a time while it can spend() them, and is charged what it
    spent, or what it used() if it says so, and else nothing. code is that of refusals that a repeated call may pass.
    """

    def __init__(
        self,
        limiter: AsyncLimiter,
        limits: str | Callable[[Call], Limits],
        *,
        agent: Callable[[Context], str] = by_token,
        most: Callable[[Call], int] | None = None,
        fields: Callable[[Call], Mapping[str, str]] | None = None,
        names: Sequence[str] = (),
        remember: float = 3600.0,
        step: int | None = None,
        code: int = LIMIT_EXCEEDED,
    ) -> None:
        if step is not None and most is not None:
            raise InvalidError("a call reserves the most that it may use, or a step at a time, not both")
        if isinstance(names, str) or (names and not isinstance(limits, str)):
            raise InvalidError(f'names: must be those of the limits of a policy, such as ["calls"], got {names!r}')
        self._limiter, self._limits, self._agent, self._names = limiter, limits, agent, list(names)
        self._most, self._fields, self._remember, self._step, self._code = most, fields, remember, step, code

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Let a call of a tool through, or refuse it with an error of JSON-RPC."""
        if ctx.method != "tools/call":
            return await call_next(ctx)
        params = ctx.params or {}
        call = Call(self._agent(ctx), str(params.get("name", "")), params.get("arguments") or {}, ctx)
        if self._step is not None:
            return await self._stream(ctx, call, call_next, self._step)
        identity = f"mcp:{uuid.uuid4()}" if self._most is not None else ""
        refusal = await self._ask(call, identity)
        if refusal is not None:
            raise refusal
        usage = _Usage()
        token = _current.set(usage)
        try:
            return await call_next(ctx)
        finally:
            _current.reset(token)
            if identity and usage.tokens is not None:
                with anyio.CancelScope(shield=True):  # a canceled call has used what it has used
                    await self._finish(self._limiter.settle(identity, usage.tokens), call)

    async def _stream(self, ctx: Context, call: Call, call_next: CallNext, step: int) -> HandlerResult:
        """Let a call through that reserves its tokens a step at a time."""
        what, names = self._limits_of(call)
        if not what:
            return await call_next(ctx)
        usage, fields = _Usage(), self._fields_of(call)
        reserving = self._limiter.streaming(
            what, call.agent or ANONYMOUS, step=step, fields=fields, remember=self._remember
        )
        try:
            async with reserving as usage.stream:
                token = _current.set(usage)
                try:
                    return await call_next(ctx)
                finally:
                    _current.reset(token)
                    if usage.tokens is not None:
                        usage.stream.settle(usage.tokens)
        except BudgetSpentError as denied:
            if usage.stream is not None:
                raise  # of the tool
            raise self._refusal(call, names, denied.result) from denied

    def _limits_of(self, call: Call) -> tuple[str | list[Keyed], list[str]]:
        """Return the limits of a call, none if it has none, and the names that are known."""
        if isinstance(self._limits, str):
            return self._limits, self._names
        limits = self._limits(call)
        return (list(checked(limits).values()), list(limits)) if limits else ([], [])

    def _fields_of(self, call: Call) -> dict[str, str]:
        given = self._fields(call) if self._fields is not None else {}
        return {name: ANONYMOUS if value == "" else value for name, value in given.items()}

    async def _ask(self, call: Call, identity: str) -> MCPError | None:
        tokens = 1 if self._most is None else self._most(call)
        remember = self._remember if identity else 0
        request = Request(tokens, fields=self._fields_of(call), id=identity, remember=remember)
        what, names = self._limits_of(call)
        if not what:
            return None
        try:
            if isinstance(what, str):
                result = await self._limiter.check(what, call.agent or ANONYMOUS, request)
            else:
                result = await self._limiter.all(*what, tokens=request)
        except StintError:
            raise
        except BaseException:  # such as a cancellation, after which the server may have granted it all the same
            if identity:
                await self._finish(self._limiter.cancel(identity), call)
            raise
        if result.allowed:
            return None
        if identity and isinstance(result.cause, UnavailableError):  # the server may have granted it
            await self._finish(self._limiter.cancel(identity), call)
        return self._refusal(call, names, result)

    async def _finish(self, ending: Awaitable[object], call: Call) -> None:
        """Settle or cancel. A server that is gone is no error of a call that was made."""
        try:
            await ending
        except StintError as error:
            log.warning("mcp: what a call of %r took stays charged: %s", call.tool, error)

    def _refusal(self, call: Call, names: list[str], result: MultiResult) -> MCPError:
        """Describe a denial. Only one that a repeated call may pass has retryAfterMs, and the code that was chosen."""
        unnamed = [f"{self._limits} {i + 1}" for i in range(len(names), len(result.limits))]
        why = denial(f"The call of the tool {call.tool}", [*names, *unnamed], result)
        if isinstance(result.cause, StintError):
            log.warning("mcp: a call of %r was refused: %s", call.tool, result.cause)
        data: dict[str, Any] = {"tool": call.tool, **asdict(why)}
        del data["message"]
        if why.retry_after_seconds is None:
            return MCPError(LIMIT_EXCEEDED, why.message, data)
        data["retryAfterMs"] = math.ceil(result.retry_after * 1000)
        if self._code == RATE_LIMITED:  # whose limit and remaining are numbers, or absent
            data |= {"limitName": why.limit, "limit": why.capacity}
            data = {name: value for name, value in data.items() if value is not None}
        return MCPError(self._code, why.message, data)
