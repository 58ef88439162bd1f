from cashews import RateLimitError, cache

from serve import URL, VARIATION, serve

cache.setup(URL)
limit = {"fixed": cache.rate_limit, "sliding": cache.slice_rate_limit}[VARIATION]


def limiter(key):
    @limit(limit=5, period=2, key=key)
    async def limited():
        return True

    async def call():
        try:
            return await limited()
        except RateLimitError:
            return False

    return call


serve("cashews", limiter)
