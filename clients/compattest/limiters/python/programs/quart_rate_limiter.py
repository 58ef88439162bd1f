from datetime import timedelta

from quart import Quart
from quart_rate_limiter import RateLimit, RateLimiter
from quart_rate_limiter.redis_store import RedisStore

from serve import URL, granted, serve


async def limiter(key):
    async def user():
        return key

    app = Quart(__name__)
    RateLimiter(app, store=RedisStore(URL), default_limits=[RateLimit(5, timedelta(seconds=5), user)])
    app.get("/")(lambda: "page")
    await app.startup()
    client = app.test_client()

    async def call():
        response = await client.get("/")
        return granted(response.status_code, await response.get_data(as_text=True))

    return call


serve("quart-rate-limiter", limiter)
