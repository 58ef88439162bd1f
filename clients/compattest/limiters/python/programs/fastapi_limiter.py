from fastapi import Depends, FastAPI
from fastapi_limiter.depends import RateLimiter
from pyrate_limiter import Limiter, Rate, RedisBucket
from redis.asyncio import Redis

from serve import HOST, PORT, requests, serve


async def limiter(key):
    bucket = await RedisBucket.init([Rate(5, 2000)], Redis(host=HOST, port=PORT), key)
    app = FastAPI(dependencies=[Depends(RateLimiter(limiter=Limiter(bucket)))])
    app.get("/")(lambda: "page")
    return requests(app)


serve("fastapi-limiter", limiter)
