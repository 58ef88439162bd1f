from django_cache import configure
from serve import serve

configure("django")

from django.test import RequestFactory
from rest_framework.throttling import SimpleRateThrottle


def limiter(key):
    class Throttle(SimpleRateThrottle):
        rate = "5/s"

        def get_cache_key(self, request, view):
            return key

    request = RequestFactory().get("/")
    return lambda: Throttle().allow_request(request, None)


serve("djangorestframework", limiter)
