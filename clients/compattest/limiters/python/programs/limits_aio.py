from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter

from serve import URL, serve

storage = RedisStorage("async+" + URL, implementation="coredis")


def limiter(key):
    strategy = MovingWindowRateLimiter(storage)
    return lambda: strategy.hit(RateLimitItemPerSecond(5, 2), key)


serve("limits", limiter)
