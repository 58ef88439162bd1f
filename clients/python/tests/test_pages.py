"""The quick starts of README.md: each runs, allows two requests, and denies the third."""

from __future__ import annotations

import asyncio
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django.conf
import django.http
import django.test
import httpx
import mcp
import pytest

from .servers import Server, Service

PAGE = (Path(__file__).parents[1] / "README.md").read_text()
STARTS: dict[str, str] = dict(re.findall(r"^```python (\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def asgi_client(module: Any) -> Callable[[], int]:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(module.app), base_url="http://test")
    return lambda: asyncio.run(client.get("/search")).status_code


def flask_client(module: Any) -> Callable[[], int]:
    client = module.app.test_client()
    return lambda: int(client.get("/search").status_code)


def django_client(module: Any) -> Callable[[], int]:
    if not django.conf.settings.configured:
        django.conf.settings.configure()
    from stint.web.django import RateLimit

    assert [f"{RateLimit.__module__}.{RateLimit.__name__}"] == module.MIDDLEWARE
    with django.test.override_settings(RATE_LIMITER=module.RATE_LIMITER, RATE_LIMIT_GUARD=module.RATE_LIMIT_GUARD):
        middleware = RateLimit(lambda request: django.http.HttpResponse("found"))
    return lambda: int(middleware(django.test.RequestFactory().get("/search")).status_code)


CLIENTS = {"fastapi": asgi_client, "starlette": asgi_client, "flask": flask_client, "django": django_client}


@pytest.mark.parametrize("name", CLIENTS)
def test_quick_start(server: Server, name: str) -> None:
    source = STARTS[name].replace("redis://127.0.0.1:6379", server.url)
    assert server.url in source
    source = source.replace("stint.fail_open())", "stint.fail_open(), timeout=60)").replace(
        "2/minute", "2/day"
    )  # for a busy machine
    assert len([line for line in source.splitlines() if line.strip()]) <= 18
    module = types.ModuleType(f"quick_start_{name}")
    sys.modules[module.__name__] = module  # where FastAPI looks up annotations
    exec(compile(source, f"README.md {name}", "exec"), module.__dict__)
    get = CLIENTS[name](module)
    statuses = [get() for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_every_quick_start_is_run() -> None:
    assert set(STARTS) == {*CLIENTS, "application", "litellm", "mcp", "testing", "transport", "users"}


def test_litellm_is_run_elsewhere() -> None:
    checks = Path(__file__).parents[2] / "compattest" / "litellm" / "checks.py"
    assert "python litellm" in checks.read_text()


def test_mcp(server: Server) -> None:
    source = STARTS["mcp"].replace("redis://127.0.0.1:6379", server.url)
    source = source.replace("stint.fail_open())", "stint.fail_open(), timeout=60)").replace("2/minute", "2/day")
    module = types.ModuleType("quick_start_mcp")
    exec(compile(source, "README.md mcp", "exec"), module.__dict__)

    async def main() -> None:
        async with mcp.Client(module.server) as client:
            for _ in range(2):
                assert not (await client.call_tool("search", {"words": "x"})).is_error
            with pytest.raises(mcp.MCPError, match="calls of this tool"):
                await client.call_tool("search", {"words": "x"})
            assert (await module.limiter.peek("tokens:", "FW 50000 @day")).remaining == 50000 - 2 * 700 - 1
        await module.limiter.close()

    asyncio.run(main())


def test_users(server: Server) -> None:
    source = STARTS["users"].replace("redis://127.0.0.1:6379", server.url)
    source = source.replace("stint.fail_open())", "stint.fail_open(), timeout=60)").replace("2/minute", "2/day")
    module = types.ModuleType("quick_start_users")
    sys.modules[module.__name__] = module
    exec(compile(source, "README.md users", "exec"), module.__dict__)

    async def statuses() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(module.app), base_url="http://test") as client:
            named = [(await client.get("/search", headers={"X-User": user})).status_code for user in "aaaba"]
            return [*named, (await client.get("/search")).status_code]

    assert asyncio.run(statuses()) == [200, 200, 429, 200, 429, 401]


def test_transports(server: Server, service: Service) -> None:
    source = STARTS["transport"].replace("redis://127.0.0.1:6379", server.url).replace("https://", "http://")
    source = source.replace("stint.fail_closed())", "stint.fail_closed(), timeout=60)")
    module = types.ModuleType("quick_start_transport")
    exec(compile(source, "README.md transport", "exec"), module.__dict__)
    assert module.client.get(service.url).status_code == 200
    assert module.session.get(service.url).status_code == 200
    assert module.limiter.peek(f"http:{service.host}", module.limit, 50).remaining < 50


def test_application() -> None:
    module = types.ModuleType("quick_start_application")
    sys.modules[module.__name__] = module
    exec(compile(STARTS["application"], "README.md application", "exec"), module.__dict__)
    module.test_search_is_limited()


def test_fakes(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STINTTEST_BINARY", program)
    source = STARTS["testing"].replace("stint.fail_closed())", "stint.fail_closed(), timeout=60)")
    exec(compile(source, "README.md testing", "exec"), {})
