from fastapi import FastAPI
from ratelimit import RateLimitMiddleware, Rule
from ratelimit.backends.redis import RedisBackend
from ratelimit.backends.slidingredis import SlidingRedisBackend
from redis.asyncio import StrictRedis

from serve import HOST, PORT, VARIATION, requests, serve

Backend = SlidingRedisBackend if VARIATION == "sliding" else RedisBackend


def limiter(key):
    async def user(scope):
        return key, "default"

    app = FastAPI()
    app.get("/")(lambda: "page")
    backend = Backend(StrictRedis(host=HOST, port=PORT))
    return requests(RateLimitMiddleware(app, user, backend, {"^/": [Rule(second=5)]}))


serve("asgi-ratelimit", limiter)
