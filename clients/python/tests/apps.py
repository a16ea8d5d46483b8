"""Applications of frameworks behind the middleware, for test_middleware.py: apps.py NAME PORT"""

import os
import sys

import jeton

ADDRESSES, KEY = os.environ["JETON_ADDRESSES"].split(), os.environ["APP_KEY"]


def serve_wsgi(app, port):  # type: ignore[no-untyped-def]
    from wsgiref.simple_server import make_server

    limited = jeton.WSGIMiddleware(
        app, jeton.Client(ADDRESSES, timeout=30), "strict", key=lambda _: KEY, skip=lambda environ: environ["PATH_INFO"] == "/health"
    )
    make_server("127.0.0.1", port, limited).serve_forever()


def serve_asgi(app, port):  # type: ignore[no-untyped-def]
    import uvicorn

    app.add_middleware(
        jeton.ASGIMiddleware, client=jeton.AsyncClient(ADDRESSES, timeout=30), limits="strict",
        key=lambda _: KEY, skip=lambda scope: scope["path"] == "/health",
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def flask(port):  # type: ignore[no-untyped-def]
    from flask import Flask

    app = Flask(__name__)
    app.add_url_rule("/", "home", lambda: "hello from flask")
    app.add_url_rule("/health", "health", lambda: "well")
    serve_wsgi(app.wsgi_app, port)


def django(port):  # type: ignore[no-untyped-def]
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.urls import path

    routes = [path("", lambda _: HttpResponse("hello from django")), path("health", lambda _: HttpResponse("well"))]
    settings.configure(ROOT_URLCONF=tuple(routes), ALLOWED_HOSTS=["*"], SECRET_KEY="of a test")
    serve_wsgi(get_wsgi_application(), port)


def starlette(port):  # type: ignore[no-untyped-def]
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def home(_):  # type: ignore[no-untyped-def]
        return PlainTextResponse("hello from starlette")

    serve_asgi(Starlette(routes=[Route("/", home), Route("/health", home)]), port)


def fastapi(port):  # type: ignore[no-untyped-def]
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse

    app = FastAPI()

    @app.get("/", response_class=PlainTextResponse)
    async def home():  # type: ignore[no-untyped-def]
        return "hello from fastapi"

    app.get("/health", response_class=PlainTextResponse)(home)
    serve_asgi(app, port)


if __name__ == "__main__":
    {"flask": flask, "django": django, "starlette": starlette, "fastapi": fastapi}[sys.argv[1]](int(sys.argv[2]))
