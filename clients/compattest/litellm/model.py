"""A service that answers as OpenAI's, and counts tokens as that does."""

import asyncio
import json

import litellm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


class Model:
    """Answers calls with as many tokens as they allow, once all calls of a round have come here or were refused."""

    def __init__(self) -> None:
        self.app = Starlette(routes=[Route("/chat/completions", self._complete, methods=["POST"])])
        self._prompts: dict[str, int] = {}
        self.begin(1)

    def begin(self, calls: int) -> None:
        self._left, self._all = calls, asyncio.Event()
        self.fails = False
        self.usages: list[dict] = []

    def arrived(self) -> None:
        """Note that a call of the round is here, or was refused."""
        self._left -= 1
        if self._left == 0:
            self._all.set()

    @property
    def tokens(self) -> int:
        return sum(usage["total_tokens"] for usage in self.usages)

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self.arrived()
        await self._all.wait()
        if self.fails:
            return JSONResponse({"error": {"message": "out of order", "type": "server_error"}}, 500)
        usage = self._usage(body)
        self.usages.append(usage)
        answer = {"id": "1", "created": 1, "model": body["model"]}
        if body.get("stream"):
            return StreamingResponse(_events(answer, usage), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
        return JSONResponse({**answer, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _usage(self, body: dict) -> dict:
        asked = {"messages": body["messages"], "tools": body.get("tools")}
        prompt = self._prompts.setdefault(json.dumps(asked), litellm.token_counter(model="gpt-4o", **asked))
        return {"prompt_tokens": prompt, "completion_tokens": body["max_tokens"], "total_tokens": prompt + body["max_tokens"]}


async def _events(answer: dict, usage: dict):
    chunk = {**answer, "object": "chat.completion.chunk"}
    delta = {"index": 0, "delta": {"role": "assistant", "content": " hello" * 10}, "finish_reason": None}
    for _ in range(max(1, usage["completion_tokens"] // 100)):
        yield f"data: {json.dumps({**chunk, 'choices': [delta]})}\n\n"
    yield f"data: {json.dumps({**chunk, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]})}\n\n"
    yield f"data: {json.dumps({**chunk, 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"
