"""Middleware that puts limits in front of a whole WSGI or ASGI application."""

import http
import ipaddress
from typing import Any, Awaitable, Callable, Dict, Generic, Iterable, MutableMapping, Optional, TypeVar, Union

from .asynchronous import AsyncClient
from .client import Client, Limits, policy
from .limitheaders import Fields, Rules, fields_of, refusal_of

R = TypeVar("R")  # a request: the environ of WSGI, or the scope of ASGI
Environ = Dict[str, Any]
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def key_of_address(address: Optional[str]) -> str:
    """ip:192.0.2.1, or of IPv6, which clients have much of, ip:2001:db8::/64: the keys of a gateway."""
    try:
        ip = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        raise ValueError(f"key: {address!r}, the address of the peer, is none: give the middleware a key of its own") from None
    mapped = getattr(ip, "ipv4_mapped", None)
    if ip.version == 4 or mapped:
        return f"ip:{mapped or ip}"
    return f"ip:{ipaddress.ip_network((int(ip), 64), strict=False)}"


class _Limited(Generic[R]):
    """What both kinds have: which requests are checked, and how.

    limits   a name, or several
    key      who a request is counted as: a function of the request. The default is the address of the connection's other end.
             Behind a proxy that is the proxy, for all clients; and a header that a client can write is no key, since the client
             would have a new bucket with each request. See docs/who-is-asking.md.
    cost     how many tokens a request takes: a number, or a function of the request
    plan     the name of a plan, or a function of the request that gives one or None
    skip     a function of the request: those for which it is true pass without a check
    on_unavailable   "allow", "deny" (503) or "error" (the exception goes on to the server); None is the client's
    """

    def __init__(
        self,
        client: object,
        kind: type,
        limits: Limits,
        key: Callable[[R], str],
        cost: Union[int, Callable[[R], int]],
        plan: Union[str, Callable[[R], Optional[str]], None],
        skip: Optional[Callable[[R], bool]],
        on_unavailable: Optional[str],
    ) -> None:
        if not isinstance(client, kind):
            raise TypeError(f'client: {client!r} is none that {type(self).__name__} can ask: give a jeton.{kind.__name__}("http://localhost:7702")')
        if not limits:
            raise ValueError('limits: name at least one, such as "api"')
        for name, function in (("key", key), ("skip", skip)):
            if function is not None and not callable(function):
                raise TypeError(f"{name}: {function!r} is no function: give one of the request, such as lambda request: ...")
        if not callable(cost) and (isinstance(cost, bool) or not isinstance(cost, int) or cost < 1):
            raise ValueError(f"cost: {cost!r} is not a number of tokens from 1 on: skip lets requests pass that are not to be counted")
        self.limits, self.key, self.cost, self.plan, self.skip = limits, key, cost, plan, skip
        self.on_unavailable = None if on_unavailable is None else policy(on_unavailable)

    def options(self, request: R) -> Dict[str, Any]:
        """The check of a request."""
        return {
            "key": self.key(request), "limits": self.limits, "on_unavailable": self.on_unavailable,
            "cost": self.cost(request) if callable(self.cost) else self.cost,
            "plan": self.plan(request) if callable(self.plan) else self.plan,
        }


def _environ_key(environ: Environ) -> str:
    return key_of_address(environ.get("REMOTE_ADDR"))


def _scope_key(scope: Scope) -> str:
    return key_of_address((scope.get("client") or (None,))[0])


class WSGIMiddleware(_Limited[Environ]):
    """Limits of a WSGI application, such as one of Flask or Django: app.wsgi_app = WSGIMiddleware(app.wsgi_app, client, "api")."""

    def __init__(
        self,
        app: Callable[..., Iterable[bytes]],
        client: Client,
        limits: Limits,
        *,
        key: Callable[[Environ], str] = _environ_key,
        cost: Union[int, Callable[[Environ], int]] = 1,
        plan: Union[str, Callable[[Environ], Optional[str]], None] = None,
        skip: Optional[Callable[[Environ], bool]] = None,
        on_unavailable: Optional[str] = None,
    ) -> None:
        super().__init__(client, Client, limits, key, cost, plan, skip, on_unavailable)
        self.app, self.client, self.rules = app, client, Rules(client.limits)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self.skip is not None and self.skip(environ):
            return self.app(environ, start_response)
        decision = self.client.check(**self.options(environ))
        if not decision.allowed:
            status, fields, body = refusal_of(decision, self.rules)
            start_response(f"{status} {http.HTTPStatus(status).phrase}", fields)
            return [] if environ.get("REQUEST_METHOD") == "HEAD" else [body]
        more = fields_of(decision, self.rules)

        def start(status: str, headers: Fields, *rest: Any) -> Any:
            return start_response(status, list(headers) + more, *rest)

        return self.app(environ, start)


class ASGIMiddleware(_Limited[Scope]):
    """Limits of an ASGI application, such as one of Starlette or FastAPI: app.add_middleware(ASGIMiddleware, client=client,
    limits="api"). What is not HTTP, such as a websocket, passes."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        client: AsyncClient,
        limits: Limits,
        *,
        key: Callable[[Scope], str] = _scope_key,
        cost: Union[int, Callable[[Scope], int]] = 1,
        plan: Union[str, Callable[[Scope], Optional[str]], None] = None,
        skip: Optional[Callable[[Scope], bool]] = None,
        on_unavailable: Optional[str] = None,
    ) -> None:
        super().__init__(client, AsyncClient, limits, key, cost, plan, skip, on_unavailable)
        self.app, self.client, self.rules = app, client, Rules(client.client.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (self.skip is not None and self.skip(scope)):
            await self.app(scope, receive, send)
            return
        decision = await self.client.check(**self.options(scope))
        if not decision.allowed:
            status, fields, body = refusal_of(decision, self.rules)
            await send({"type": "http.response.start", "status": status, "headers": _bytes(fields)})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
            return
        more = _bytes(fields_of(decision, self.rules))

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        await self.app(scope, receive, tell)


def _bytes(fields: Fields) -> Any:
    return [(name.lower().encode(), value.encode()) for name, value in fields]
