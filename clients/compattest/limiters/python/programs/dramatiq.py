import redis
from dramatiq.rate_limits import BucketRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend

from serve import HOST, PORT, VARIATION, serve

backend = RedisBackend(client=redis.Redis(HOST, int(PORT)))


def limiter(key):
    limit = {
        "bucket": lambda: BucketRateLimiter(backend, key, limit=5, bucket=2000),
        "window": lambda: WindowRateLimiter(backend, key, limit=5, window=2),
    }[VARIATION]()

    def call():
        with limit.acquire(raise_on_failure=False) as acquired:
            return acquired

    return call


serve("dramatiq", limiter)
