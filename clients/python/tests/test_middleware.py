"""Middleware: by itself, and in front of the frameworks that it is for."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
import wsgiref.util
import wsgiref.validate
from typing import Any, Dict, List, Tuple

import cluster
import fakes
import jeton
from jeton.answers import Outcome
from jeton.limitheaders import Rules, fields_of, rule_of
from jeton.middleware import key_of_address

HERE = os.path.dirname(os.path.abspath(__file__))


def app(environ: Dict[str, Any], start_response: Any) -> List[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("RateLimit", '"other";r=1')])
    return [b"hello"]


def ask(wsgi: Any, **environ: str) -> Tuple[str, List[Tuple[str, str]], bytes]:
    """Asks an application of WSGI, with everybody held to its rules."""
    environ = {"REMOTE_ADDR": "192.0.2.1", "QUERY_STRING": "", "SCRIPT_NAME": "", "PATH_INFO": "/", **environ}
    wsgiref.util.setup_testing_defaults(environ)
    got: List[Any] = []
    body = wsgiref.validate.validator(wsgi)(environ, lambda status, headers, exc_info=None: got.extend((status, headers)) or (lambda _: None))
    try:
        return got[0], got[1], b"".join(body)
    finally:
        body.close()


def until_rules(rules: Rules, name: str, limit: int) -> None:
    """Returns when the limits have been read."""
    for _ in range(18000):
        if rules.of(Outcome(name, True, limit, 0)):
            return
        time.sleep(0.01)
    raise AssertionError("the limits were not read")


class Keys(unittest.TestCase):
    def test_addresses(self) -> None:
        for address, key in (
            ("192.0.2.1", "ip:192.0.2.1"), ("2001:db8:1:2:3:4:5:6", "ip:2001:db8:1:2::/64"), ("::ffff:192.0.2.1", "ip:192.0.2.1"),
            ("fe80::1%eth0", "ip:fe80::/64"), ("::1", "ip:::/64"),
        ):
            self.assertEqual(key_of_address(address), key)
        for wrong in (None, "", "testclient", "192.0.2.1:80"):
            with self.assertRaisesRegex(ValueError, "give the middleware a key"):
                key_of_address(wrong)


class Numbers(unittest.TestCase):
    """The numbers of the fields, as gateway/answer has them."""

    def test_windows(self) -> None:
        bucket = {"algorithm": "token-bucket", "capacity": 10, "refill": "1/s"}
        for limit, remaining, reset, fill, t in (
            (bucket, 3, 7.0, 10, 3), (bucket, 0, 9.4, 10, 1), (bucket, 0, 10.0, 10, 1), (bucket, 10, 0.0, 10, 10),
            ({"algorithm": "token-bucket", "capacity": 10000, "refill": "10000/m"}, 7000, 18.0, 60, 42),
            ({"algorithm": "token-bucket", "capacity": 3, "refill": "1/1.5s"}, 0, 4.5, 5, 2),
            ({"algorithm": "fixed-window", "limit": 5, "window": "1h30m"}, 4, 12.3, 5400, 13),
            ({"algorithm": "fixed-window", "limit": 5, "per": "month"}, 5, 0.0, 2678400, 2678400),
            ({"algorithm": "sliding-log", "limit": 5, "window": "500ms"}, 0, 0.2, 1, 1),
            ({"algorithm": "concurrency", "limit": 2, "lease": "1m"}, 2, 0.0, 60, 1),
        ):
            rule = rule_of(limit)
            assert rule is not None
            self.assertEqual((-(-rule.fill // 1), rule.window(Outcome("x", True, 10, remaining, 0, reset))), (fill, t), limit)
        for newer in ({"algorithm": "new", "limit": 1}, {"algorithm": "fixed-window", "limit": 1, "per": "eon"}, {"capacity": 1, "refill": "1/q"}, {}):
            self.assertIsNone(rule_of(newer))


    def test_names_that_need_escapes(self) -> None:
        d = jeton.Decision(True, [Outcome('a"b\\c%ü', True, 10**18, -1)])
        self.assertEqual(fields_of(d, Rules(dict)), [("RateLimit", '"a\\"b\\\\c%25%C3%BC";r=0'), ("RateLimit-Policy", '"a\\"b\\\\c%25%C3%BC";q=999999999999999')])

    def test_the_nearest(self) -> None:
        few, many = Outcome("few", True, 10, 1), Outcome("many", True, 10, 9)
        soon, late = Outcome("soon", False, 10, 0, 1.2), Outcome("late", False, 10, 5, 7)
        for limits, nearest in (([many, few], few), ([few, late, soon], late), ([late, Outcome("no", False, 1, 1, never=True)], None), ([many, many], many)):
            d = jeton.Decision(False, limits)
            self.assertEqual(d.nearest, nearest or limits[-1])


class WSGI(unittest.TestCase):
    def setUp(self) -> None:
        self.client = jeton.Client(cluster.shared().addresses, timeout=30)
        self.addCleanup(self.client.close)
        self.key = f"wsgi:{os.getpid()}:{self.id()}"

    def made(self, limits: Any = "strict", client: Any = None, **options: Any) -> jeton.WSGIMiddleware:
        return jeton.WSGIMiddleware(app, client or self.client, limits, **{"key": lambda _: self.key, **options})

    def test_passes_and_denies(self) -> None:
        made = self.made(["login", "strict"])
        until_rules(made.rules, "strict", 2)
        status, headers, body = ask(made)
        self.assertEqual((status, body), ("200 OK", b"hello"))
        self.assertEqual(headers, [
            ("Content-Type", "text/plain"), ("RateLimit", '"other";r=1'),
            ("RateLimit", '"strict";r=1;t=3600'), ("RateLimit-Policy", '"login";q=10;w=10, "strict";q=2;w=7200'),
        ])
        ask(made)
        status, headers, body = ask(made)
        fields = dict(headers)
        self.assertEqual(status, "429 Too Many Requests")
        self.assertTrue(3590 < int(fields["Retry-After"]) <= 3600, fields)
        self.assertEqual(fields["RateLimit"], f'"strict";r=0;t={fields["Retry-After"]}')
        self.assertEqual((fields["Cache-Control"], fields["Content-Type"], fields["X-Content-Type-Options"]), ("no-store", "application/problem+json", "nosniff"))
        self.assertEqual(json.loads(body), {
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429, "detail": f"too many requests: the limit strict is exhausted; try again in {fields['Retry-After']}s", "violated-policies": ["strict"],
        })
        status, headers, empty = ask(made, REQUEST_METHOD="HEAD")
        self.assertEqual((status, empty, int(dict(headers)["Content-Length"])), ("429 Too Many Requests", b"", len(body)))

    def test_never(self) -> None:
        status, headers, body = ask(self.made(cost=lambda _: 3))
        self.assertTrue(status.startswith("429") and "Retry-After" not in dict(headers))
        self.assertIn("can never pass", json.loads(body)["detail"])

    def test_options(self) -> None:
        for _ in range(3):
            self.assertEqual(ask(self.made(skip=lambda e: e["PATH_INFO"] == "/health"), PATH_INFO="/health")[1][-1], ("RateLimit", '"other";r=1'))
        self.assertEqual(self.client.look(self.key, "strict").remaining, 2)
        status, headers, _ = ask(self.made("planned", plan=lambda _: "pro", cost=7))
        self.assertEqual(dict(headers)["RateLimit"], '"planned";r=43')
        made = self.made("planned", plan="twice")
        until_rules(made.rules, "planned", 5)
        self.assertRegex(dict(ask(made)[1])["RateLimit"], '^"planned";r=[0-9]+$')
        ask(jeton.WSGIMiddleware(app, self.client, "hourly"), REMOTE_ADDR="2001:db8::7")
        self.assertEqual(self.client.look("ip:2001:db8::/64", "hourly").remaining, 4)
        with self.assertRaisesRegex(ValueError, "give the middleware a key"):
            ask(jeton.WSGIMiddleware(app, self.client, "hourly"), REMOTE_ADDR="")
        with self.assertRaisesRegex(ValueError, "^on_unavailable"):
            self.made(on_unavailable="local")
        with self.assertRaises(jeton.JetonError):
            ask(self.made("nothing", on_unavailable="allow"))

    def test_what_could_not_ask(self) -> None:
        other = jeton.AsyncClient("http://a")
        for kind, good, wrong, says in (
            (jeton.WSGIMiddleware, self.client, other, r"give a jeton.Client\("), (jeton.ASGIMiddleware, other, self.client, r"give a jeton.AsyncClient\("),
        ):
            for client in (wrong, "http://localhost:7702", None):
                with self.assertRaisesRegex(TypeError, "^client: .*" + says):
                    kind(app, client, "strict")
            for limits in ("", [], None):
                with self.assertRaisesRegex(ValueError, "^limits: name at least one"):
                    kind(app, good, limits)
            for name, value, error in (("key", "user:42", TypeError), ("skip", True, TypeError), ("cost", 0, ValueError), ("cost", "1", ValueError), ("cost", True, ValueError)):
                with self.assertRaisesRegex(error, f"^{name}: "):
                    kind(app, good, "strict", **{name: value})

    def test_no_decision(self) -> None:
        with fakes.serving(fakes.says(fakes.problem(503, "unavailable"))) as fake, jeton.Client(fake.url, on_unavailable="deny") as client:
            status, headers, body = ask(self.made(client=client))
            self.assertEqual((status, dict(headers)["Retry-After"], "RateLimit" in dict(headers)), ("503 Service Unavailable", "1", False))
            problem = json.loads(body)
            self.assertEqual((problem["type"], problem["violated-policies"]), ("https://iana.org/assignments/http-problem-types#temporary-reduced-capacity", []))
            self.assertEqual(ask(self.made(client=client, on_unavailable="allow"))[:2], ("200 OK", [("Content-Type", "text/plain"), ("RateLimit", '"other";r=1')]))
            with self.assertRaises(jeton.Unavailable):
                ask(self.made(client=client, on_unavailable="error"))


class ASGI(unittest.IsolatedAsyncioTestCase):
    async def ask(self, asgi: Any, type: str = "http", **scope: Any) -> List[Any]:
        sent: List[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        await asgi({"type": type, "method": "GET", "path": "/", "client": ("192.0.2.1", 1), **scope}, receive, send)
        return sent

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"hello"})

    def setUp(self) -> None:
        cluster.shared()  # before there is a loop that this would block

    async def asyncSetUp(self) -> None:
        self.reached: List[str] = []
        self.client = jeton.AsyncClient(cluster.shared().addresses, timeout=30)
        self.key = f"asgi:{os.getpid()}:{self.id()}"

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def test_passes_and_denies(self) -> None:
        made = jeton.ASGIMiddleware(self.app, self.client, "strict", key=lambda _: self.key, skip=lambda s: s["path"] == "/health")
        until_rules(made.rules, "strict", 2)
        for left in (1, 0):
            start, body = await self.ask(made)
            self.assertEqual((start["status"], body["body"]), (200, b"hello"))
            self.assertEqual(start["headers"][::2], [(b"a", b"b"), (b"ratelimit-policy", b'"strict";q=2;w=7200')])
            name, value = start["headers"][1]
            self.assertEqual(name, b"ratelimit")
            self.assertRegex(value.decode(), f'^"strict";r={left};t=(3600|35[0-9][0-9])$')  # less by what has passed since the first one
        start, body = await self.ask(made)
        self.assertEqual((start["status"], json.loads(body["body"])["violated-policies"]), (429, ["strict"]))
        start, body = await self.ask(made, method="HEAD")
        self.assertEqual((start["status"], body["body"]), (429, b""))
        self.assertEqual(len(self.reached), 2)
        await self.ask(made, path="/health")
        for type in ("websocket", "lifespan"):
            await self.ask(made, type)
        self.assertEqual(self.reached[2:], ["http", "websocket", "lifespan"])
        with self.assertRaisesRegex(ValueError, "give the middleware a key"):
            await self.ask(jeton.ASGIMiddleware(self.app, self.client, "strict"), client=None)


class Frameworks(unittest.TestCase):
    """tests/apps.py, served by real servers, asked over the network."""

    def served(self, name: str, host: str = "127.0.0.1") -> None:
        with socket.create_server((host, 0)) as probe:
            port = probe.getsockname()[1]
        key = f"framework:{name}:{os.getpid()}"
        env = {**os.environ, "JETON_ADDRESSES": " ".join(cluster.shared().addresses), "APP_KEY": key}
        process = subprocess.Popen([sys.executable, os.path.join(HERE, "apps.py"), name, str(port)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for _ in range(3600):  # three minutes
                if process.poll() is not None:
                    break
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
                        self.assertEqual((answer.status, answer.headers.get("RateLimit")), (200, None))
                    break
                except urllib.error.URLError:
                    time.sleep(0.05)
            statuses = []
            for _ in range(3):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                        self.assertEqual(answer.read(), b"hello from " + name.encode())
                except urllib.error.HTTPError as e:
                    answer = e
                    self.assertEqual(json.loads(e.read())["violated-policies"], ["strict"])
                    self.assertTrue(3500 < int(e.headers["Retry-After"]) <= 3600)
                statuses.append(answer.status)
                self.assertTrue(re.match(r'"strict";r=[01]', answer.headers["RateLimit"]), answer.headers)
                self.assertTrue(answer.headers["RateLimit-Policy"].startswith('"strict";q=2'), answer.headers)
            self.assertEqual(statuses, [200, 200, 429])
        finally:
            process.terminate()
            said, _ = process.communicate(timeout=180)
        self.assertNotIn("Traceback", said)

    def test_flask(self) -> None:
        self.served("flask")

    def test_django(self) -> None:
        self.served("django")

    def test_starlette(self) -> None:
        self.served("starlette")

    def test_fastapi(self) -> None:
        self.served("fastapi")


class Gateway(unittest.TestCase):
    def test_the_same_fields_as_a_gateway(self) -> None:
        """What the middleware says of a limit is what a gateway says of it, one request later."""
        shared = cluster.shared()
        admin = re.search(r"gateway +HTTP (http://\S+)", shared.said)
        assert admin is not None
        request = urllib.request.Request(admin[1] + "/v1/items", headers={"x-api-key": "test-key-123"})
        for _ in range(20):
            with urllib.request.urlopen(request, timeout=30) as answer:
                theirs = answer.headers
            if "RateLimit" in theirs:  # else it has let the request through without a node, which was slow
                break
        with jeton.Client(shared.addresses, timeout=30) as client:
            made = jeton.WSGIMiddleware(app, client, "items", key=lambda _: "customer:test")
            until_rules(made.rules, "items", 60)
            ours = dict(ask(made)[1])
        self.assertEqual(ours["RateLimit-Policy"], theirs["RateLimit-Policy"])
        said = re.match('"items";r=([0-9]+);t=', theirs["RateLimit"])
        assert said is not None
        left = int(said[1])
        self.assertEqual([theirs["RateLimit"], ours["RateLimit"]], [f'"items";r={r};t={60 * r}' for r in (left, left - 1)])


if __name__ == "__main__":
    unittest.main()
