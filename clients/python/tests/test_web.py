"""The middleware of each framework: the vectors' responses, keys, decorators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import django.conf
import django.http
import django.test
import fastapi
import flask
import httpx
import pytest
import redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import stint
from stint.results import NEVER, Result, Source
from stint.web import asgi, wsgi
from stint.web.clientip import Resolver
from stint.web.fields import announce, as_styles, merge, quote, write_fields
from stint.web.flask import route_limit as flask_limit
from stint.web.guard import Guard, View, by_header, by_ip, by_route, by_user, everybody, first_of, join
from stint.web.starlette import dependency
from stint.web.starlette import route_limit as starlette_limit

from .servers import PATIENT, Scripted, Server
from .test_vectors import FOLDER, POLICIES, VECTORS, limit_of, raw

Answer = tuple[int, dict[str, str], str]
Get = Callable[[str, stint.Policy, Guard], Answer]


def get_asgi(url: str, policy: stint.Policy, guard: Guard) -> Answer:
    async def hello(request: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    async def main() -> httpx.Response:
        async with stint.AsyncLimiter(url, policy, timeout=PATIENT) as limiter:
            app = Starlette(routes=[Route("/", hello)])
            app.add_middleware(asgi.RateLimit, limiter=limiter, guard=guard)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                return await client.get("/")

    response = asyncio.run(main())
    return response.status_code, dict(response.headers), response.text


def get_flask(url: str, policy: stint.Policy, guard: Guard) -> Answer:
    app = flask.Flask("test")
    app.add_url_rule("/", view_func=lambda: "ok")
    with stint.Limiter(url, policy, timeout=PATIENT) as limiter:
        app.wsgi_app = wsgi.RateLimit(app.wsgi_app, limiter, guard)  # type: ignore[method-assign]
        response = app.test_client().get("/")
    return response.status_code, {k.lower(): v for k, v in response.headers}, response.text


def get_django(url: str, policy: stint.Policy, guard: Guard) -> Answer:
    if not django.conf.settings.configured:
        django.conf.settings.configure()
    from stint.web.django import RateLimit

    with stint.Limiter(url, policy, timeout=PATIENT) as limiter:
        with django.test.override_settings(RATE_LIMITER=limiter, RATE_LIMIT_GUARD=guard):
            middleware = RateLimit(lambda request: django.http.HttpResponse("ok"))
        response = middleware(django.test.RequestFactory().get("/"))
    return response.status_code, {k.lower(): v for k, v in response.items()}, response.content.decode()


FRAMEWORKS: dict[str, Get] = {"asgi": get_asgi, "flask": get_flask, "django": get_django}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("v", [v for v in VECTORS if v["call"] == "http"], ids=lambda v: v["name"])
def test_response_of_a_vector(scripted: Scripted, v: dict[str, Any], framework: str) -> None:
    scripted.reply = lambda words: v["reply"].encode()
    by = {"policy": v["policy"]} if "policy" in v else {"limit": limit_of(v["limit"])}
    guard = Guard("api", key=lambda view: raw(v["key"]).decode(), cost=lambda view: v["tokens"], **by)
    status, fields, body = FRAMEWORKS[framework](scripted.url, POLICIES[v["when_down"]], guard)
    want = v["response"]
    assert status == want["status"]
    assert {k: v for k, v in fields.items() if k in want["fields"] or "ratelimit" in k or k == "retry-after"} == want[
        "fields"
    ]
    assert body == want["body"] if status == 200 else json.loads(body) == json.loads(want["body"])
    assert [[word.decode() for word in words] for words in scripted.commands] == [v["command"]]


def view(remote: str = "203.0.113.9", **fields: str) -> View:
    named = {name.replace("_", "-").lower(): value for name, value in fields.items()}
    return View("GET", "/x", remote, lambda name: [named[name.lower()]] if name.lower() in named else [], None)


def test_addresses_behind_proxies() -> None:
    behind = Resolver(["10.0.0.0/8", "2001:db8::/32"])
    for remote, forwarded, want in [
        ("203.0.113.9", [], "203.0.113.9/32"),
        ("203.0.113.9:4000", ["1.2.3.4"], "203.0.113.9/32"),  # not a proxy: what it says does not count
        ("10.0.0.1", ["1.2.3.4, 198.51.100.7"], "198.51.100.7/32"),
        ("10.0.0.1", ["1.2.3.4", "198.51.100.7, 10.9.9.9"], "198.51.100.7/32"),
        ("10.0.0.1", ["unknown"], "10.0.0.1/32"),
        ("10.0.0.1", [], "10.0.0.1/32"),
        ("[2001:db8::1]:443", ["2606:4700:1:2:3::4"], "2606:4700:1:2::/64"),
        ("::ffff:198.51.100.7", [], "198.51.100.7/32"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("64:ff9b::192.0.2.7", [], "192.0.2.7/32"),
        ("[64:ff9b::c000:207]:443", [], "192.0.2.7/32"),
        ("64:ff9b::1:c000:207", [], "64:ff9b::/64"),
        ("64:ff9b:1::c000:207", [], "64:ff9b:1::/64"),
        ("10.0.0.1", ["64:ff9b::10.0.0.2"], "10.0.0.2/32"),
        ("", ["1.2.3.4"], ""),
        ("unix:", [], ""),
    ]:
        assert behind.resolve(remote, forwarded) == want, (remote, forwarded)


def test_keys() -> None:
    hashed = by_header("X-Api-Key")(view(x_api_key="secret"))
    assert len(hashed) == 24 and "secret" not in hashed
    assert by_header("X-Api-Key")(view()) == ""
    either = first_of(by_header("X-Api-Key"), by_ip())
    assert either(view()) == "1:203.0.113.9/32" and either(view(x_api_key="secret")) == "0:" + hashed
    assert join(everybody, by_route)(view()) == "all | GET /x"
    assert join(lambda view: "a | b", everybody)(view()) != join(lambda view: "a", lambda view: "b | all")(view())


def test_skip_shadow_and_a_limit_for_each_request() -> None:
    shadowed: list[stint.Result] = []
    guard = Guard(
        "api",
        "1/s",
        everybody,
        shadow=lambda seen, result: shadowed.append(result),
        skip=lambda seen: seen.remote == "",
    )
    assert guard.question(view("")) is None
    question = guard.question(view())
    assert question is not None and guard.answer(view(), question, stint.Result(False)).allowed and shadowed
    assert Guard("api", "1/s", everybody, cost=lambda seen: 0).question(view()) is None
    chosen = Guard("api", lambda seen: "5/s" if seen.remote else "1/s", everybody).question(view())
    assert chosen is not None and str(chosen.limit) == "TB 5 5/s"
    with pytest.raises(ValueError):
        Guard("api")


@pytest.fixture
def limiter(shared_server: Server) -> Iterator[stint.Limiter]:
    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        yield limiter


def test_decorator_for_flask(limiter: stint.Limiter) -> None:
    app, limit = flask.Flask("test"), flask_limit(limiter)

    @app.get("/search")
    @limit("2/day", name="flask-search")
    def search() -> str:
        return "found"

    client = app.test_client()
    answers = [client.get("/search") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit"].startswith('"flask-search";r=1;t=')
    assert answers[2].mimetype == "application/problem+json"


def test_decorator_for_starlette(shared_server: Server) -> None:
    async def main() -> list[httpx.Response]:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            limit = starlette_limit(limiter)

            @limit("2/day", name="starlette-search")
            async def search(request: Request) -> PlainTextResponse:
                return PlainTextResponse("found")

            app = Starlette(routes=[Route("/search", search)])
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                return [await client.get("/search") for _ in range(3)]

    answers = asyncio.run(main())
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[1].headers["ratelimit"].startswith('"starlette-search";r=0;t=')
    assert int(answers[2].headers["retry-after"]) > 0


def test_policies_on_the_server(limiter: stint.Limiter, shared_server: Server) -> None:
    client: Any = redis.Redis("127.0.0.1", shared_server.port)
    client.execute_command("RL.POLICY", "SET", "web", "TB", "web:{}", "1", "1/d")
    app = flask.Flask("test")
    app.add_url_rule("/", view_func=lambda: "ok")
    unlimited = app.wsgi_app
    for key in (everybody, lambda view: ""):
        app.wsgi_app = wsgi.RateLimit(unlimited, limiter, Guard("web", policy="web", key=key))  # type: ignore[method-assign]
        assert [app.test_client().get("/").status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("wrong", [{"key": "ip"}, {"cost": 5}, {"skip": True}])
def test_options_that_are_no_functions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a function"):
        Guard("api", "1/s", **wrong)


USERS: dict[str, Callable[[Any], str]] = {
    "a header": lambda request: request.headers.get("x-user", ""),
    "the state": lambda request: request.state.user,
    "the scope": lambda request: request["state"]["user"],
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_users_of_fastapi(scripted: Scripted, user: Callable[[Any], str]) -> None:
    scripted.reply = lambda words: b"*5\r\n:1\r\n:9\r\n:8\r\n:0\r\n:1000"

    def authenticate(request: fastapi.Request) -> None:
        request.state.user = request.headers["x-user"]

    async def main() -> int:
        async with stint.AsyncLimiter(scripted.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            app = fastapi.FastAPI()
            limit = dependency(limiter, "9/s", "route", by_user(user))
            depends = [fastapi.Depends(authenticate), fastapi.Depends(limit)]
            app.add_api_route("/", lambda: "ok", dependencies=depends)
            app.add_middleware(asgi.RateLimit, limiter=limiter, guard=Guard("site", "9/s", by_user(USERS["a header"])))
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                return (await client.get("/", headers={"x-user": "ann"})).status_code

    assert asyncio.run(main()) == 200
    assert [words[1] for words in scripted.commands] == [b"site:ann", b"route:ann"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("value", [None, b"ann", 7])
@pytest.mark.parametrize("combine", [by_user, lambda user: first_of(by_user(user)), lambda user: join(by_user(user))])
def test_keys_that_are_no_text(
    scripted: Scripted, framework: str, value: Any, combine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard("api", "5/s", combine(lambda request: value))
    status, fields, _ = FRAMEWORKS[framework](scripted.url, stint.fail_open(), guard)
    assert (status, fields["retry-after"], scripted.commands) == (503, "1", [])
    want = f'rate limit api: key must return text, got {value!r}; return "" for one limit of all such requests'
    assert want in caplog.messages


BOTH = as_styles(["draft-10", "x-ratelimit"])


def test_fields_of_each_style(scripted: Scripted) -> None:
    vectors = json.loads((FOLDER / "fields.json").read_text("utf-8"))

    def seconds(ms: int) -> float | None:
        return None if ms < 0 else ms / 1000

    for case in vectors["cases"]:
        limit = case["limit"]
        window, more, reset = (seconds(limit[name]) for name in ("window_ms", "more_ms", "reset_ms"))
        styles = as_styles([] if case["styles"] == "none" else case["styles"].split(","))
        given = (limit["name"], limit["quota"], limit["remaining"], window, more, reset, case["now_ms"] / 1000)
        assert dict(write_fields(styles, *given, warns=limit.get("warns", False))) == case["fields"], case["name"]
    for text in vectors["refused"]:
        with pytest.raises(ValueError, match="fields must be a list of draft-10"):
            Guard("api", "5/s", fields=text.split(","))
    scripted.reply = lambda words: b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:200\r\n"
    _, fields, _ = get_flask(scripted.url, stint.fail_open(), Guard("api", "5/s", fields=["draft-6"]))
    assert {name for name in fields if "ratelimit" in name} == {
        f"ratelimit-{end}" for end in ("limit", "remaining", "reset")
    }


def test_fields_say_that_a_limit_warns(scripted: Scripted) -> None:
    for warns, end in ((1, ";stint-warn"), (0, "")):
        scripted.reply = lambda words, warns=warns: b"*6\r\n:1\r\n:10\r\n:2\r\n:0\r\n:1000\r\n:%d" % warns  # type: ignore[misc]
        _, fields, _ = get_flask(scripted.url, stint.fail_closed(), Guard("api", "FW 10 @day WARN 80%"))
        assert fields["ratelimit"] == f'"api";r=2;t=1{end}'


def test_names_and_times_of_fields() -> None:
    assert quote('a "b"') == '"a \\"b\\""'
    names = ["a", "a\n", "a\r", "a%0A", "é", "\u20ac", "%C3%A9", "\ud800"]
    assert len({quote(name) for name in names}) == len(names)
    never = Result(False, 0, 5, 5, retry_after=NEVER, source=Source.SERVER)
    assert dict(announce(BOTH, "api", never, 60.0, 0.0)) == {
        "RateLimit-Policy": '"api";q=5;w=60',
        "RateLimit": '"api";r=5',
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "5",
    }


def test_fields_of_several_limits() -> None:
    def fields(name: str, result: Result) -> list[tuple[str, str]]:
        return announce(BOTH, name, result, 60, 1)

    inner = [("Content-Type", "text/plain"), *fields("search", Result(True, 1, 2, 1, reset_after=30))]
    outer = fields("api", Result(True, 1, 100, 40, reset_after=36))
    policies = ["Content-Type", "RateLimit-Policy", "RateLimit"]
    one_set = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    merged = merge(inner, outer, False)
    assert [name for name, _ in merged] == [*policies, "RateLimit-Policy", "RateLimit", *one_set]
    assert [value for name, value in merged if name in one_set] == ["100", "40", "36"]
    denied = merge(inner, outer, True)
    assert [name for name, _ in denied] == [*policies, *one_set, "RateLimit-Policy", "RateLimit"]
    assert [value for name, value in denied if name in one_set] == ["2", "1", "30"]
    assert merge(outer, inner[1:], False)[2:5] == outer[2:5]  # whichever comes first
    assert merge(inner, [], False) == inner
    assert merge([], outer, True) == outer


def test_two_limits_send_one_set(shared_server: Server) -> None:
    names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")

    def one_set(fields: list[tuple[str, str]]) -> list[str]:
        """Return the values of the fields that are no lists."""
        return [value for name, value in sorted((name.lower(), value) for name, value in fields) if name in names]

    async def main() -> None:
        async with stint.AsyncLimiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
            app = fastapi.FastAPI()
            app.add_middleware(asgi.RateLimit, limiter=limiter, guard=Guard("site-a", "100/hour", everybody))
            depends = [fastapi.Depends(dependency(limiter, "2/hour", "route-a", everybody))]
            app.add_api_route("/", lambda: "ok", dependencies=depends)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                answers = [await client.get("/") for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 200, 429]
            assert answers[2].headers["content-type"] == "application/problem+json"
            assert answers[2].json() == {"detail": "Too many requests"}
            assert [one_set(answer.headers.multi_items())[:2] for answer in answers] == [
                ["2", "1"],
                ["2", "0"],
                ["2", "0"],
            ]
            assert [len(one_set(answer.headers.multi_items())) for answer in answers] == [3, 3, 3]
            assert answers[0].headers["ratelimit-policy"] == '"route-a";q=2;w=3600, "site-a";q=100;w=3600'

    asyncio.run(main())
    app = flask.Flask("test")

    def found() -> str:
        return "found"

    with stint.Limiter(shared_server.url, stint.fail_closed(), timeout=PATIENT) as limiter:
        limit = flask_limit(limiter, everybody)
        app.add_url_rule("/", view_func=limit("50/hour", "outer-f")(limit("2/hour", "route-f")(found)))
        app.wsgi_app = wsgi.RateLimit(app.wsgi_app, limiter, Guard("site-f", "100/hour", everybody))  # type: ignore[method-assign]
        responses = [app.test_client().get("/") for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert [one_set(list(response.headers))[:2] for response in responses] == [["2", "1"], ["2", "0"], ["2", "0"]]
    assert [len(one_set(list(response.headers))) for response in responses] == [3, 3, 3]
