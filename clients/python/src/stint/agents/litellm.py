"""A callback for LiteLLM's proxy: takes the most that a call may use before it, and charges its usage afterwards.

# stint_limits.py, beside the proxy's config.yaml, which has: litellm_settings: {callbacks: [stint_limits.limits]}
import stint
from stint.agents.litellm import RateLimit

limits = RateLimit(
    stint.AsyncLimiter("redis://127.0.0.1:6379", stint.fail_open(), timeout=2),
    lambda call: {
        "tokens per minute": stint.on(f"tokens:{call.key.api_key}", "60000/minute", cost=call.tokens),
        "dollars per month": stint.on(f"money:{call.key.team_id}", "FW 500000000 @month", cost=call.micro_dollars),
    },
)
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy.common_utils.proxy_rate_limit_error import ProxyRateLimitError
from litellm.proxy.spend_tracking.budget_reservation import count_request_input_tokens, estimate_request_max_cost

from ..aio import AsyncLimiter
from ..aiostream import AsyncStream
from ..asks import Request
from ..errors import StintError, UnavailableError
from ..rates import MAX_TOKENS
from ..results import MultiResult
from ..slices import BudgetSpentError
from .named import Limits, checked, denial

log = logging.getLogger("stint")

MOST_OUTPUT = 4096
"""The longest answer, in tokens, of a request that states none."""

# The fields of a request that bound its answer, by the kind of call. Other kinds have no answer of tokens.
_BOUNDS = {
    "completion": ("max_tokens", "max_completion_tokens"),
    "acompletion": ("max_tokens", "max_completion_tokens"),
    "text_completion": ("max_tokens",),
    "atext_completion": ("max_tokens",),
    "anthropic_messages": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "aresponses": ("max_output_tokens",),
}
_CHATS = {kind: bounds for kind, bounds in _BOUNDS.items() if kind.endswith("completion") and "text" not in kind}


@dataclass(frozen=True)
class Call:
    """A call of a model: the most that it may use before it is made, and what it used afterwards.

    key is LiteLLM's UserAPIKeyAuth: api_key (hashed), user_id, team_id, end_user_id, tpm_limit, metadata and others.
    """

    key: Any
    model: str
    tokens: int
    dollars: float | None
    request: dict[str, Any]

    @property
    def micro_dollars(self) -> int:
        """The cost in millionths of a dollar, rounded up. It is an error if LiteLLM has no price for the model."""
        if self.dollars is None:
            raise LookupError(f"LiteLLM has no price for the model {self.model}, so no limit can count its cost")
        return min(math.ceil(round(self.dollars * 1e6, 3)), MAX_TOKENS)


class _Reservation:
    """What was taken for one request of the proxy."""

    def __init__(self, call: Call, call_id: object, limits: Limits) -> None:
        self.call, self.call_id, self.limits = call, call_id, limits
        self.id = f"litellm:{uuid.uuid4()}"  # never the call's id, which clients choose
        self.is_answered = False  # a model has answered: the call has a cost
        self.is_over = False
        self.prompt = 0  # tokens
        self.stream: AsyncStream | None = None  # if the answer is reserved a step at a time
        self.ending = AsyncExitStack()  # which ends the stream


class RateLimit(CustomLogger):
    """Limits the calls of LiteLLM's proxy. limits returns the limits of a call by their names, {} for none.

    It is asked before a call, with the most that the call may use, and again after it, with what the call used; the
    costs of the second answer are charged in place of those of the first. remember is the time in seconds in which a
    call must end; what a call took that ends later stays taken.

    With step, a chat that is streamed reserves that many tokens at a time from each limit without a cost, and ends with
    an error when one of them denies more. Limits with a cost are still reserved for the longest answer.
    """

    def __init__(
        self,
        limiter: AsyncLimiter,
        limits: Callable[[Call], Limits],
        *,
        most_output: int = MOST_OUTPUT,
        remember: float = 3600.0,
        step: int | None = None,
    ) -> None:
        super().__init__()
        self._limiter, self._limits, self._step = limiter, limits, step
        self._most_output, self._remember = most_output, remember
        self._current: ContextVar[_Reservation | None] = ContextVar("stint_reservation", default=None)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> None:
        """Reserve, or refuse the request: 429 if a limit denies, 503 if the limiter's fallback does."""
        if not data.get("model"):
            return  # a call of a tool, or of the proxy itself
        call, prompt = await self._most(user_api_key_dict, data, call_type)
        limits = self._limits(call)
        if not limits:
            return
        reservation = _Reservation(call, data.get("litellm_call_id"), checked(limits))
        if self._step is not None and data.get("stream") and call_type in _CHATS:
            await self._open(reservation, prompt, self._step)
            return
        request = Request(max(1, call.tokens), id=reservation.id, remember=self._remember)
        try:
            result = await self._limiter.all(*reservation.limits.values(), tokens=request)
        except StintError:
            raise
        except BaseException:  # such as a cancellation, after which the server may have granted it all the same
            await self._finish(reservation, None)
            raise
        if not result.allowed:
            if isinstance(result.cause, UnavailableError):  # the server may have granted it
                await self._finish(reservation, None)
            raise self._refusal(reservation, result)
        self._current.set(reservation)

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> None:
        """Note that a model has answered."""
        self._answered()

    async def async_post_call_response_headers_hook(
        self, data: Any, user_api_key_dict: Any, response: Any, *others: Any, **more: Any
    ) -> None:
        """Note that a model has answered, here with the begin of a stream."""
        if response is not None:
            self._answered()

    async def _open(self, reservation: _Reservation, prompt: int, step: int) -> None:
        """Reserve the first slice of a stream, or refuse the request."""
        limits = list(reservation.limits.values())
        options: dict[str, Any] = {"id": reservation.id, "remember": self._remember}
        try:
            reservation.stream = await reservation.ending.enter_async_context(
                self._limiter.streaming(limits, prompt=prompt, step=step, **options)
            )
        except BudgetSpentError as denied:
            raise self._refusal(reservation, denied.result) from denied
        reservation.prompt = prompt
        self._current.set(reservation)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: AsyncIterable[Any], request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Count the chunks of a stream before they are passed on, and end it when a limit denies more."""
        reservation = self._current.get()
        if reservation is None or reservation.stream is None:
            async for chunk in response:
                yield chunk
            return
        stream, model, is_whole = reservation.stream, reservation.call.model, False
        try:
            async for chunk in stream.wrap(response, lambda chunk: _tokens_of(chunk, model)):
                yield chunk
            is_whole = True
        except BudgetSpentError as denied:  # LiteLLM writes no HTTPException into a stream that has begun
            why = denial(f"This call of {model}", list(reservation.limits), denied.result)
            raise litellm.RateLimitError(message=why.message, llm_provider="stint", model=model) from denied
        finally:
            if not is_whole:  # else LiteLLM reports the usage
                await self._finish(reservation, await self._broken_off(reservation, stream.used))

    async def _broken_off(self, reservation: _Reservation, tokens: int) -> Call:
        """Return the call with what was delivered."""
        first, output = reservation.call, max(1, tokens - reservation.prompt)
        bounds = dict.fromkeys(_CHATS["acompletion"], output)
        _, dollars = await self._estimate({**first.request, **bounds}, "/chat/completions")
        return Call(first.key, first.model, tokens, dollars, first.request)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Charge what a call used, in place of what was reserved."""
        reservation, usage = self._current.get(), kwargs.get("standard_logging_object")
        if reservation is None or usage is None or kwargs.get("litellm_call_id") != reservation.call_id:
            return  # of a call within the request, such as that of a guardrail
        is_cached = bool(usage.get("cache_hit"))
        tokens = 0 if is_cached else int(usage.get("total_tokens") or 0)
        dollars = 0.0 if is_cached else float(usage.get("response_cost") or 0.0)
        first = reservation.call
        await self._finish(reservation, Call(first.key, first.model, tokens, dollars, first.request))

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Exception, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> None:
        """Give everything back if no model has answered. After the begin of an answer, the reservation stays taken."""
        reservation = self._current.get()
        if reservation is not None and not reservation.is_answered:
            await self._finish(reservation, None)

    def _answered(self) -> None:
        reservation = self._current.get()
        if reservation is not None:
            reservation.is_answered = True

    async def _most(self, key: Any, data: dict[str, Any], call_type: str) -> tuple[Call, int]:
        """Return the call with the most that it may use, and its prompt. One without a longest answer gets one."""
        bounds = _BOUNDS.get(call_type, ())
        output = max((_whole(data.get(name)) for name in bounds), default=0)
        if bounds and output == 0:
            data[bounds[0]] = output = self._most_output
        answers = max(1, _whole(data.get("n")), _whole(data.get("best_of")))
        route = "/embeddings" if "embedding" in call_type else "/chat/completions"
        prompt, dollars = await self._estimate(data, route)
        tokens = prompt + output * answers
        return Call(key, str(data["model"]), min(tokens, MAX_TOKENS), dollars, data), prompt

    async def _estimate(self, data: dict[str, Any], route: str) -> tuple[int, float | None]:
        """Return the tokens of a prompt, and the most that its request may cost."""
        from litellm.proxy.proxy_server import llm_router  # set when the proxy has started

        counts = await count_request_input_tokens(request_body=data, route=route, llm_router=llm_router)
        beside = _beside_messages(data)
        counts = {model: count + beside for model, count in counts.items()}
        dollars = estimate_request_max_cost(
            request_body=data, route=route, llm_router=llm_router, input_token_counts=counts
        )
        return max(counts.values(), default=0), dollars

    async def _finish(self, reservation: _Reservation, used: Call | None) -> None:
        """Settle or cancel, once. A server that is gone is no error of a call that was made."""
        if reservation.is_over:
            return
        reservation.is_over = True
        stream = reservation.stream
        costs: list[int | None] = []
        try:
            if used is not None:
                after = checked(self._limits(used))
                costs = [after[name].tokens(used.tokens) if name in after else None for name in reservation.limits]
            if stream is not None:
                if used is not None:
                    stream.settle_costs(used.tokens, costs)
                await reservation.ending.aclose()
                if stream.error is not None:
                    raise stream.error
            elif used is None:
                await self._limiter.cancel(reservation.id)
            else:
                await self._limiter.settle(reservation.id, costs=costs)
        except StintError as error:
            log.warning("litellm: what a call of %r reserved stays charged: %s", reservation.call.model, error)

    def _refusal(self, reservation: _Reservation, result: MultiResult) -> HTTPException:
        model = reservation.call.model
        why = denial(f"This call of {model}", list(reservation.limits), result)
        after = why.retry_after_seconds
        headers = {} if after is None else {"retry-after": str(after)}
        if not why.is_counted:
            return HTTPException(503, why.message, headers)
        refusal: HTTPException = ProxyRateLimitError(detail=why.message, headers=headers, model=model)
        return refusal


def _tokens_of(chunk: Any, model: str) -> int:
    """Count what a chunk of a chat delivers. The usage that LiteLLM reports at the end replaces it."""
    texts = []
    for choice in getattr(chunk, "choices", None) or []:
        delta = getattr(choice, "delta", None)
        texts += [getattr(delta, name, None) for name in ("content", "reasoning_content")]
        for call in getattr(delta, "tool_calls", None) or []:
            texts.append(getattr(getattr(call, "function", None), "arguments", None))
    return sum(int(litellm.token_counter(model=model, text=text)) for text in texts if text)


def _whole(value: object) -> int:
    """Return a number that a client sent, 0 for anything else."""
    try:
        return max(0, int(value))  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return 0


def _beside_messages(data: dict[str, Any]) -> int:
    """Count the parts of a prompt that LiteLLM leaves out of its estimate."""
    parts = [data[name] for name in ("system", "instructions") if data.get(name)]
    return sum(int(litellm.token_counter(model=data["model"], text=str(part))) for part in parts)
