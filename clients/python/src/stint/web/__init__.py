"""Middleware for ASGI, WSGI and Django, decorators, and transports for httpx and requests.

Each module is imported alone, so none of the frameworks is a dependency of the package.
"""
