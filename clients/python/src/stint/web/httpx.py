"""Transports for httpx that keep to the limit of another service.

    client = httpx.Client(transport=PacedTransport(limiter, stint.per_second(100).burst(20).adaptive(2)))

With an adaptive limit, all processes follow the answers of the service: a 429 that one of them gets slows all down,
and its Retry-After stops all.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx

from ..aio import AsyncLimiter
from ..limiter import Limiter
from ..limits import Limit
from ..reports import DEFAULT_REPORT, ReportOptions
from .pacing import Pacer, await_turn, await_turn_async, heed, heed_async, host_key

KeyOf = Callable[[httpx.Request], str]


def by_host(request: httpx.Request) -> str:
    """Return one key for all requests to the same host and port."""
    return host_key(request.url.netloc.decode("ascii"))


class PacedTransport(httpx.BaseTransport):
    """Waits for the turn of each request, and hears the answers. It does not repeat requests."""

    def __init__(
        self,
        limiter: Limiter,
        limit: Limit | str,
        *,
        transport: httpx.BaseTransport | None = None,
        key: KeyOf = by_host,
        max_wait: float = 60.0,
        max_pause: float = 86400.0,
        options: ReportOptions = DEFAULT_REPORT,
    ) -> None:
        self._limiter, self._key = limiter, key
        self._pacer = Pacer(limit, max_wait, max_pause, options)
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request in its turn."""
        key = self._key(request)
        await_turn(self._limiter, self._pacer, key)
        try:
            response = self._transport.handle_request(request)
        except httpx.TimeoutException:
            heed(self._limiter, self._pacer, key, 504)
            raise
        heed(self._limiter, self._pacer, key, response.status_code, response.headers.get)
        return response

    def close(self) -> None:
        """Close the transport that sends."""
        self._transport.close()


class AsyncPacedTransport(httpx.AsyncBaseTransport):
    """Waits for the turn of each request, and hears the answers. It does not repeat requests."""

    def __init__(
        self,
        limiter: AsyncLimiter,
        limit: Limit | str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        key: KeyOf = by_host,
        max_wait: float = 60.0,
        max_pause: float = 86400.0,
        options: ReportOptions = DEFAULT_REPORT,
    ) -> None:
        self._limiter, self._key = limiter, key
        self._pacer = Pacer(limit, max_wait, max_pause, options)
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request in its turn."""
        key = self._key(request)
        await await_turn_async(self._limiter, self._pacer, key)
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.TimeoutException:
            await heed_async(self._limiter, self._pacer, key, 504)
            raise
        await heed_async(self._limiter, self._pacer, key, response.status_code, response.headers.get)
        return response

    async def aclose(self) -> None:
        """Close the transport that sends."""
        await self._transport.aclose()
