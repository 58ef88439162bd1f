"""The vectors that the clients in all languages share: commands, results and errors are those of the Go client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import stint
from stint.keys import short_key

from .servers import PATIENT, Scripted

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS: list[dict[str, Any]] = [
    v
    for name in ("vectors.json", "shared.json", "usage.json", "balance.json")
    for v in json.loads((FOLDER / name).read_text())
]
POLICIES = {
    "fail_open": stint.fail_open(),
    "fail_closed": stint.fail_closed(),
    "local_share": stint.local_share(0.5),
}
Play = Callable[[stint.AsyncLimiter | stint.Limiter], Any]


def raw(key: str) -> bytes:
    return bytes.fromhex(key[4:]) if key.startswith("hex:") else key.encode()


def shown(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return "hex:" + word.hex()


def limit_of(v: dict[str, Any]) -> stint.Limit:
    limit = unwarned(v).warn(v["warn_percent"]) if "warn_percent" in v else unwarned(v)
    return limit.spread() if v.get("spread") else limit


def unwarned(v: dict[str, Any]) -> stint.Limit:
    seconds = v.get("period_ms", 0) / 1000
    if v["algorithm"] == "TB":
        return stint.per(v["count"], seconds).burst(v["tokens"])
    if v["algorithm"] == "FS":
        bucket = stint.per(v["count"], seconds).burst(v["tokens"])
        return bucket.member(raw(v.get("member", "")), v["weight"])
    if v["algorithm"] == "AD":
        return stint.per(v["count"], seconds).burst(v["tokens"]).adaptive(v.get("least", 0))
    if v["algorithm"] == "LQ":
        return stint.per(v["count"], seconds).queue(v["tokens"])
    if v["algorithm"] == "CL":
        return stint.gcra(v["tokens"] - 1, v["count"], round(seconds))
    if v["algorithm"] == "FW":
        anchor = {"tz": v.get("zone", ""), "start": v.get("from", "")}
        kept = {"history": v.get("history", 0), "rollover": v.get("rollover_percent", 0)}
        return stint.window(v["tokens"], v["window"], **kept, **anchor)
    if v["algorithm"] == "CC":
        return stint.concurrency(v["tokens"], seconds, v["member"])
    if v["algorithm"] == "BAL":
        return stint.balance()
    if v["algorithm"] == "PENALTY":
        longest = v["longest_ban_ms"] / 1000 if "longest_ban_ms" in v else ""
        return stint.penalty(v["tokens"], seconds, v["ban_ms"] / 1000, doubling=longest)
    if v["algorithm"] == "SW":
        return stint.sliding_window(v["tokens"], seconds, segments=v.get("segments", 0))
    assert v["algorithm"] == "SL"
    return stint.sliding_log(v["tokens"], seconds)


def keyed(v: dict[str, Any]) -> stint.Keyed:
    or_else = v.get("or_else", False)
    return stint.on(raw(v["key"]), limit_of(v["limit"]), cost=v.get("cost"), keep=v.get("keep", ""), or_else=or_else)


def request(v: dict[str, Any]) -> stint.Request:
    return stint.Request(
        v.get("tokens", 0),
        keep=v.get("keep", ""),
        max_wait=v.get("max_wait_ms", 0) / 1000,
        fields=v.get("fields", {}),
        show_warn=v.get("show_warn", False),
        split=v.get("split", False),
        id=v.get("id", ""),
        remember=v.get("remember_ms", 0) / 1000,
    )


def play(limiter: Any, v: dict[str, Any]) -> Any:
    """Make the call of a vector."""
    key, tokens, call = raw(v.get("key", "")), v.get("tokens", 0), v["call"]
    if call in ("allow", "allow_at_most", "peek", "force"):
        return getattr(limiter, call)(key, limit_of(v["limit"]), tokens)
    if call in ("class", "peek_class"):
        c = v["class"]
        under = [keyed(node) for node in c["under"] or []]
        tree = stint.Class(raw(c["key"]), limit_of(c["assured"]), limit_of(c["ceiling"]), under)
        return (limiter.allow_class if call == "class" else limiter.peek_class)(tree, tokens)
    if call == "members":
        return limiter.members(key)
    if call == "report":
        r = v["report"]
        every = r["every_ms"] / 1000 if "every_ms" in r else None
        options = stint.ReportOptions(every, r.get("down_percent"), r.get("up_percent"))
        return limiter.report(key, r["good"], r["bad"], pause=r.get("pause_ms", 0) / 1000, options=options)
    if call == "all":
        return limiter.all(*map(keyed, v.get("limits", [])), tokens=request(v))
    if call == "check":
        return limiter.check(v["policy"], key, request(v))
    if call == "extend":
        return limiter.extend(v["id"], v["number"], tokens, split=v.get("split", False))
    if call == "release":
        return limiter.release(key, v["limit"]["member"])
    if call == "add_credits":
        return limiter.add_credits(key, tokens, payment=v["id"], expires=v.get("expires_s"))
    if call == "credits":
        return limiter.credits(key)
    if call == "settle":
        return limiter.settle(v["id"], tokens)
    if call == "settle_costs":
        return limiter.settle(v["id"], costs=v["costs"])
    if call == "cancel":
        return limiter.cancel(v["id"])
    if call == "usage":
        return limiter.usage(key)
    if call == "policy_usage":
        return limiter.policy_usage(v["policy"], key, fields=v.get("fields"))
    assert call == "refund"
    return limiter.refund(key, tokens)


def ms(seconds: float) -> int:
    return -1 if seconds == stint.NEVER else int(seconds * 1000 + 1e-6)


def usage(u: stint.Usage) -> dict[str, Any]:
    names = ("limit", "used", "reserved", "lent", "remaining")
    history = [[ms(w.start), ms(w.end), w.used, w.reserved] for w in u.history]
    window = {"start_ms": ms(u.start or 0), "end_ms": ms(u.end or 0)}
    return {name: getattr(u, name) for name in names} | window | {"history": history}


def state(s: stint.Result | stint.LimitState) -> dict[str, Any]:
    shown: dict[str, Any] = {"limit": s.limit, "remaining": s.remaining, "reset_after_ms": ms(s.reset_after)}
    shown |= {"warn": True} if s.warn else {}
    return shown | {"granted": s.granted} if isinstance(s, stint.LimitState) and s.granted else shown


def as_vector(result: Any) -> dict[str, Any]:
    if isinstance(result, (stint.Result, stint.MultiResult)):
        shown: dict[str, Any] = {
            "allowed": result.allowed,
            "granted": result.granted,
            "retry_after_ms": ms(result.retry_after),
            "wait_ms": ms(result.wait),
            "source": result.source.value,
        }
        if isinstance(result, stint.Result):
            shown |= state(result)
        else:
            shown |= {"binding": result.binding, "limits": [state(s) for s in result.limits]}
        return shown | {"needs_payment": True} if result.needs_payment else shown
    if isinstance(result, bool):
        return {"known": result}
    if isinstance(result, stint.Credits):
        grants = [[credit.left, credit.expires] for credit in result.grants]
        return {"known": True, "balance": result.balance, "grants": grants}
    if isinstance(result, stint.Usage):
        return {"known": True, "usage": usage(result)}
    if isinstance(result, list) and result and isinstance(result[0], stint.Usage):
        return {"limits": [usage(u) | {"key": u.key} for u in result]}
    if isinstance(result, stint.Pace):
        return {"known": True, "per_second": result.per_second, "pause_ms": ms(result.pause)}
    if isinstance(result, list) and all(isinstance(m, stint.Member) for m in result):
        return {"known": True, "members": [{"name": m.name, "weight": m.weight, "taken": m.taken} for m in result]}
    if isinstance(result, list):
        charges = [
            {"charged": c.charged, "limit": c.limit, "remaining": c.remaining, "reset_after_ms": ms(c.reset_after)}
            for c in result
        ]
        return {"known": True, "charges": charges}
    return {"known": result is not None, "remaining": result or 0, "balance": result}


def kind(error: Exception | None) -> str:
    """Name the class of an error, in the words of all clients."""
    for name, classes in {
        "unauthenticated": stint.UnauthenticatedError,
        "uncertain": stint.UncertainError,
        "unavailable": stint.UnavailableError,
        "invalid": stint.InvalidError,
        "refused": stint.RefusedError,
    }.items():
        if isinstance(error, classes):
            return name
    assert error is None, error
    return ""


def outcome(v: dict[str, Any], make: Callable[[], Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the kind of the error, and the result unless the error was raised."""
    try:
        result = make()
    except stint.StintError as error:
        return kind(error), None
    return kind(getattr(result, "cause", None)), as_vector(result)


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("v", [v for v in VECTORS if v["call"] != "http"], ids=lambda v: v["name"])
def test_vector(scripted: Scripted, v: dict[str, Any], is_async: bool) -> None:
    scripted.reply = lambda words: v["reply"].encode()
    policy = POLICIES[v["when_down"]]

    def in_thread() -> Any:
        with stint.Limiter(scripted.url, policy, timeout=PATIENT) as limiter:
            return play(limiter, v)

    async def in_loop() -> Any:
        async with stint.AsyncLimiter(scripted.url, policy, timeout=PATIENT) as limiter:
            pending: Awaitable[Any] = play(limiter, v)
            return await pending

    error, result = outcome(v, (lambda: asyncio.run(in_loop())) if is_async else in_thread)
    assert error == v["error"]
    commands = [[shown(word) for word in words] for words in scripted.commands]
    assert commands == ([v["command"]] if v["command"] else [])
    if result is not None:
        want = v["result"]
        if not want.get("known", True):
            assert not result["known"]
        elif "reset_after_ms" in want and want["source"] == "local":
            assert result | {"reset_after_ms": 0} == want | {"reset_after_ms": 0}  # it depends on the clock
        else:
            assert {k: result[k] for k in want} == want
    elif "allowed" in v["result"]:
        assert not v["result"]["allowed"]  # where Go returns an error and a denial, Python raises


def test_short_keys_are_those_of_go() -> None:
    assert len(short_key("k" * 201)) == 208
    assert short_key("k" * 200) == b"k" * 200
