"""Django, set up with a cache in Redis."""

import django
from django.conf import settings

from serve import URL

BACKENDS = {"django": "django.core.cache.backends.redis.RedisCache", "django-redis": "django_redis.cache.RedisCache"}


def configure(backend):
    settings.configure(
        CACHES={"default": {"BACKEND": BACKENDS[backend], "LOCATION": URL}},
        SILENCED_SYSTEM_CHECKS=["django_ratelimit.E003", "django_ratelimit.W001"],
        SECRET_KEY="-",
    )
    django.setup()
