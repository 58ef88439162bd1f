from fastapi import FastAPI
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from slowapi.middleware import SlowAPIMiddleware

from serve import URL, requests, serve


def limiter(key):
    app = FastAPI()
    app.state.limiter = Limiter(key_func=lambda: key, default_limits=["5/2 seconds"], storage_uri=URL)
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
    app.add_middleware(SlowAPIMiddleware)

    @app.get("/")
    async def page():
        return "page"

    return requests(app)


serve("slowapi", limiter)
