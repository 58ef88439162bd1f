from pyrate_limiter import Limiter, Rate, RedisBucket
from redis import Redis

from serve import HOST, PORT, serve


def limiter(key):
    bucket = RedisBucket.init([Rate(5, 2000)], Redis(HOST, PORT), key)
    limiter = Limiter(bucket)
    return lambda: limiter.try_acquire("call", blocking=False)


serve("pyrate-limiter", limiter)
