from flask import Flask
from flask_limiter import Limiter

from serve import URL, granted, serve


def limiter(key):
    app = Flask(__name__)
    Limiter(lambda: key, app=app, storage_uri=URL, default_limits=["5 per 2 seconds"])
    app.get("/")(lambda: "page")
    client = app.test_client()

    def call():
        response = client.get("/")
        return granted(response.status_code, response.text)

    return call


serve("Flask-Limiter", limiter)
