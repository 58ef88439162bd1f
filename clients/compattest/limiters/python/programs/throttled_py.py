from datetime import timedelta

from throttled import RedisStore, Throttled, rate_limiter

from serve import URL, VARIATION, serve

store = RedisStore(server=URL)
quota = rate_limiter.per_duration(timedelta(seconds=2 if "window" in VARIATION else 5), 5)


def limiter(key):
    throttle = Throttled(using=VARIATION, quota=quota, store=store)
    return lambda: not throttle.limit(key).limited


serve("throttled-py", limiter)
