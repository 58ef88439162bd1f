from threading import Timer

from redis import Redis
from redis_lock import Lock

from serve import HOST, PORT, serve


def limiter(key):
    """A counter under a lock, which another one holds at first: the library waits for it by BLPOP."""
    client = Redis(host=HOST, port=int(PORT))

    def call():
        other = Lock(client, key, expire=60)  # longer than a busy machine takes
        other.acquire()
        Timer(0.01, other.release).start()
        with Lock(client, key, expire=60):
            count = client.incr(f"{key}-count")
            if count == 1:
                client.expire(f"{key}-count", 2)
            return count <= 5

    return call


serve("python-redis-lock", limiter)
