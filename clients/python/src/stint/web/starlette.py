"""A limit for one route of FastAPI or Starlette.

@app.get("/search", dependencies=[Depends(dependency(limiter, "100/minute", "search"))])  # FastAPI
async def search(): ...

limit = route_limit(limiter)

@limit("100/minute")  # Starlette
async def search(request): ...
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..aio import AsyncLimiter
from ..limits import Limit
from .asgi import decide, view
from .fields import merge_raw
from .guard import Answer, Guard, Key

Endpoint = Callable[[Request], Awaitable[Response]]


class Decorator(Protocol):
    """Makes a decorator: limit("100/minute"), limit(stint.window(1000, "@day"), name="search")."""

    def __call__(self, most: Limit | str, name: str = "") -> Callable[[Endpoint], Endpoint]:
        """Return the decorator of an endpoint."""


def route_limit(limiter: AsyncLimiter, key: Key | None = None) -> Decorator:
    """Return a decorator for endpoints that take the request and return a response."""

    def limit(most: Limit | str, name: str = "") -> Callable[[Endpoint], Endpoint]:
        def decorate(endpoint: Endpoint) -> Endpoint:
            guard = Guard(name or endpoint.__name__, most, key)

            @functools.wraps(endpoint)
            async def limited(request: Request) -> Response:
                answer = await decide(limiter, guard, view(request.scope))
                response = await endpoint(request) if answer.allowed else Response(answer.body, answer.status)
                _announce(response, answer, response.status_code == 429)
                return response

            return limited

        return decorate

    return limit


def dependency(
    limiter: AsyncLimiter, most: Limit | str, name: str, key: Key | None = None
) -> Callable[[Request, Response], Awaitable[None]]:
    """Return a dependency of FastAPI. A denied request is an HTTPException with the fields of the response.

    FastAPI answers with problem details that have the member detail alone.
    """
    guard = Guard(name, most, key)

    async def check(request: Request, response: Response) -> None:
        answer = await decide(limiter, guard, view(request.scope))
        if not answer.allowed:
            raise HTTPException(answer.status, json.loads(answer.body)["title"], dict(answer.fields))
        _announce(response, answer, False)

    return check


def _announce(response: Response, answer: Answer, is_denial: bool) -> None:
    """Add the fields of an answer to those of other limits."""
    response.raw_headers[:] = merge_raw(response.raw_headers, answer.fields, is_denial)
