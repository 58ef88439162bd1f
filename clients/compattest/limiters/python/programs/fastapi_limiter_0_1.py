import sys

from serve import HOST, PORT, VARIATION, requests, serve

sys.path.insert(0, VARIATION)  # the folder of the older release

from fastapi import Depends, FastAPI
from fastapi_limiter import FastAPILimiter
from fastapi_limiter.depends import RateLimiter
from redis.asyncio import Redis


async def limiter(key):
    async def user(request):
        return key

    await FastAPILimiter.init(Redis(host=HOST, port=PORT), identifier=user)
    app = FastAPI(dependencies=[Depends(RateLimiter(times=5, seconds=2))])
    app.get("/")(lambda: "page")
    return requests(app)


serve("fastapi-limiter", limiter)
