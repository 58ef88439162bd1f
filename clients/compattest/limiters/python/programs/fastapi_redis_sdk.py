import asyncio
import os

from fastapi import Depends, FastAPI

from serve import URL, requests, serve

os.environ["REDIS_URL"] = URL
os.environ["REDIS_RATE_LIMIT_FAIL_CLOSED"] = "true"

from redis_fastapi import FastAPIRedis, rate_limit  # it reads its settings once


async def live(app, started):
    """Be the server that the application starts and ends with."""
    async with app.router.lifespan_context(app):
        started.set()
        await asyncio.Event().wait()


async def limiter(key):
    app = FastAPI()
    FastAPIRedis(app).lifespan().rate_limiting()
    app.get("/", dependencies=[Depends(rate_limit("5/2seconds", identifier=lambda request: key))])(lambda: "page")
    started = asyncio.Event()
    app.state.server = asyncio.create_task(live(app, started))
    await started.wait()
    if not app.state._redis.ratelimit_capabilities.supports_increx:
        raise RuntimeError("the library found no INCREX, and would run a script")
    return requests(app)


serve("fastapi-redis-sdk", limiter)
