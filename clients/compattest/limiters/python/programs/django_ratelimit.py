from django.test import RequestFactory
from django_ratelimit.core import is_ratelimited

from django_cache import configure
from serve import VARIATION, serve

configure(VARIATION)


def limiter(key):
    request = RequestFactory().get("/")
    return lambda: not is_ratelimited(request, group="calls", key=lambda group, request: key, rate="5/2s", increment=True)


serve("django-ratelimit", limiter)
