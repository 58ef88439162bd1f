from dramatiq.rate_limits import BucketRateLimiter, ConcurrentRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend

from serve import URL, VARIATION, serve

backend = RedisBackend(url=URL)
held = []


def limiter(key):
    limit = {
        "bucket": lambda: BucketRateLimiter(backend, key, limit=5, bucket=2000),
        "concurrent": lambda: ConcurrentRateLimiter(backend, key, limit=5, ttl=2000),
        "window": lambda: WindowRateLimiter(backend, key, limit=5, window=2),
    }[VARIATION]()

    def call():
        acquired = limit.acquire(raise_on_failure=False)
        held.append(acquired)  # the call goes on
        return acquired.__enter__()

    return call


serve("dramatiq", limiter)
