from litestar import Litestar, get
from litestar.middleware.rate_limit import RateLimitConfig
from litestar.stores.redis import RedisStore

from serve import URL, requests, serve


@get("/")
async def page() -> str:
    return "page"


def limiter(key):
    config = RateLimitConfig(rate_limit=("second", 5), identifier_for_request=lambda request: key)
    return requests(Litestar([page], middleware=[config.middleware], stores={"rate_limit": RedisStore.with_client(URL)}))


serve("litestar", limiter)
