from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import STRATEGIES

from serve import URL, VARIATION, serve

storage = RedisStorage(URL)


def limiter(key):
    strategy = STRATEGIES[VARIATION](storage)
    return lambda: strategy.hit(RateLimitItemPerSecond(5, 2), key)


serve("limits", limiter)
