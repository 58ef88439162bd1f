from walrus import Database

from serve import HOST, PORT, serve

database = Database(HOST, int(PORT))


def limiter(key):
    limit = database.rate_limit("walrus", limit=5, per=2)
    return lambda: not limit.limit(key)


serve("walrus", limiter)
