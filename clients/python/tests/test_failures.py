"""Servers that fail, lie or are silent: a call ends in its time, with what on_unavailable says, and never with a wrong decision."""

import concurrent.futures
import contextlib
import os
import pickle
import re
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock
from typing import Any, Callable, List

import cluster
import fakes
import jeton
from jeton import failure
from fakes import http, problem, says

TIMEOUT = 0.4
LATE = 25 * TIMEOUT  # that no busy machine misses
SLACK = 20.0  # of a machine that is busy: without a timeout a call would take for ever

DEEP = b"[" * 100_000
BROKEN = {
    "silence": fakes.silent,
    "a closed connection": says(b""),
    "garbage": says(b"hello\r\n\r\n"),
    "half a status line": says(b"HTTP/1.1 2"),
    "half a head": says(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "a body that is shorter than it says": says(fakes.allowed().replace(b"Content-Length: ", b"Content-Length: 9")),
    "a body that is too long": says(b"HTTP/1.1 200 OK\r\n\r\n" + fakes.allowed().partition(b"\r\n\r\n")[2] + b" " * (1 << 20)),
    "a number of too many digits": says(http(200, b'{"allowed":true,"limits":[],"granted":' + b"9" * 30 + b"}")),
    "half a body": says(fakes.allowed()[:-10]),
    "a drip of a head": fakes.dripping(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 2000),
    "a drip of a body": fakes.dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + b"x" * 4000),
    "a drip of chunks": fakes.dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1000),
    "endless continues": fakes.endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an endless head": fakes.endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 60_000 + b"\r\n"),
    "an endless line": fakes.endless(b"HTTP/1.1 200 ", b"y" * 60_000),
    "a body that is said to be huge": fakes.endless(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"y" * 60_000),
    "endless chunks": fakes.endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"ea60\r\n" + b"y" * 60_000 + b"\r\n"),
    "a body without an end": fakes.endless(b"HTTP/1.1 200 OK\r\n\r\n", b"y" * 60_000),
    "a chunk of no size": says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
    "a length below nothing": says(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
    "nothing": says(http(200, b"")),
    "no JSON": says(http(200, b"<html>welcome</html>", "text/html")),
    "no UTF-8": says(http(200, b"\xff\xfe\xfd")),
    "deep JSON": says(http(200, DEEP)),
    "a huge number": says(http(200, b'{"allowed":true,"limits":[],"granted":' + b"9" * 100_000 + b"}")),
    "no number": says(http(200, b'{"allowed":true,"limits":[],"granted":NaN}')),
    "null": says(http(200, None)),
    "a list": says(http(200, [])),
    "an empty object": says(http(200, {})),
    "a text for yes": says(http(200, {"allowed": "true", "limits": []})),
    "a number for yes": says(http(200, {"allowed": 1, "limits": []})),
    "limits that are none": says(http(200, {"allowed": True, "limits": {"a": 1}})),
    "a limit that is none": says(http(200, {"allowed": True, "limits": [None]})),
    "a limit without a name": says(http(200, {"allowed": True, "limits": [{"allowed": True}]})),
    "a redirect": says(http(307, b"", "text/plain", "Location: http://127.0.0.1:1/v1/check")),
    "a proxy's 429": says(http(429, b"slow down", "text/html")),
    "a proxy's 429 in JSON": says(http(429, {"error": "slow down"})),
    "a 429 that is a problem": says(problem(429, "too-many-concurrent")),
    "a proxy's 502": says(http(502, b"bad gateway", "text/html")),
    "503": says(problem(503, "overloaded")),
    "504": says(problem(504, "deadline-exceeded")),
}


class Broken(unittest.TestCase):
    def test_alone(self) -> None:
        def one(answer: Any) -> None:
            with fakes.serving(answer) as fake:
                with jeton.Client(fake.url, timeout=TIMEOUT) as client:
                    begin = time.monotonic()
                    with self.assertRaises(jeton.Unavailable) as caught:
                        client.check("u", "login")
                    self.assertLess(time.monotonic() - begin, TIMEOUT + SLACK)
                e = caught.exception
                self.assertEqual((e.status, e.type), (503, "urn:jeton:problem:unavailable"))
                self.assertTrue(e.attempts and all(a.address == fake.url and a.reason for a in e.attempts), e.attempts)
                self.assertLessEqual(len({b["request_id"] for b in fake.bodies}), 1, "a call that is repeated has another id")

        self.each(one)

    def each(self, one: Any) -> None:
        """Does it with every broken server, some at once."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for name, done in [(name, pool.submit(one, answer)) for name, answer in BROKEN.items()]:
                with self.subTest(name):
                    done.result()

    def test_another_address_answers(self) -> None:
        def one(answer: Any) -> None:
            with fakes.serving(answer) as bad, fakes.serving(says(fakes.allowed())) as good:
                with jeton.Client([bad.url, good.url], timeout=2 * LATE) as client:
                    client._first = 0
                    self.assertEqual(client.check("u", "login").remaining, 9)
                    self.assertEqual(bad.bodies[0]["request_id"], good.bodies[0]["request_id"])
                    before = len(bad.bodies)
                    client.check("u", "login")
                    self.assertEqual((len(bad.bodies), len(good.bodies)), (before, 2), "the one that answered is not asked first")

        self.each(one)

    def test_policies(self) -> None:
        with fakes.serving(says(problem(503, "unavailable"))) as fake:
            for policy in ("allow", "deny"):
                with jeton.Client(fake.url, timeout=30, on_unavailable=policy) as client:
                    d = client.check("u", "login")
                    self.assertEqual((d.allowed, d.decided_by, d.failed_open, d.limits, d.nearest), (policy == "allow", policy, policy == "allow", [], None))
                    self.assertEqual(d.retry_after, 0 if policy == "allow" else 1)
                    all = client.check_all([{"key": "u", "limits": "login"}])
                    self.assertEqual((all.allowed, all.decided_by, all.checks), (policy == "allow", policy, []))
                    with client.hold("u", "tokens", for_=60) as held:
                        self.assertEqual((held.allowed, held.hold), (policy == "allow", None))
                    for call in (
                        lambda: client.look("u", "login"), lambda: client.settle("x", 1), lambda: client.extend("u", {}), lambda: client.limits(),
                        lambda: client.extend_hold("x", 1), lambda: client.give_back("u", []), lambda: client.bucket("login", "u"),
                    ):
                        self.assertRaises(jeton.Unavailable, call)
                    self.assertEqual(client.check("u", "login", on_unavailable="deny" if policy == "allow" else "allow").allowed, policy == "deny")

    def test_what_is_refused_never_passes(self) -> None:
        for answer, status in ((http(400, b"bad", "text/plain"), 400), (http(413, b"big", "text/html"), 413), (http(404, b"", "text/plain"), 404), (problem(500, "internal"), 500), (problem(403, "x"), 403), (http(400, {"title": "no detail"}, "application/problem+json"), 400),
            (http(431, b"{", "application/problem+json"), 431), (http(401, DEEP, "application/problem+json"), 401)):
            with self.subTest(status=status), fakes.serving(says(answer)) as fake, jeton.Client(fake.url, timeout=30, on_unavailable="allow") as client:
                with self.assertRaises(jeton.JetonError) as caught:
                    client.check("u", "login")
                self.assertEqual((caught.exception.status, type(caught.exception), len(fake.bodies)), (status, jeton.JetonError, 1))

    def test_a_decision_is_neither_true_nor_false(self) -> None:
        for d in (jeton.Decision(True), jeton.Decision(False), jeton.AllDecision(False), jeton.AsyncDecision(False)):
            with self.assertRaisesRegex(TypeError, 'write "if decision.allowed"'):
                bool(d)

    def test_a_token_that_cannot_be_had(self) -> None:
        def token() -> str:
            raise OSError("no metadata")

        for gives, said in ((token, "token: no metadata"), (lambda: "a\nb", "token: token: it is empty")):
            with jeton.Client("http://a", token=gives) as client:
                with self.assertRaisesRegex(jeton.Unavailable, said):
                    client.check("u", "login")
                self.assertFalse(client.check("u", "login", on_unavailable="deny").allowed)

    def test_a_settlement_that_did_not_arrive_is_no_release(self) -> None:
        """What was used is not known to the cluster then. It was used all the same."""
        with fakes.serving(says(problem(503, "unavailable"))) as fake, jeton.Client(fake.url, timeout=30) as client:
            with self.assertRaises(jeton.Unavailable), jeton.Decision(True, hold=jeton.Hold(client, "text", 3000)) as held:
                assert held.hold is not None
                held.hold.settle(1200)
            self.assertEqual({body["cost"] for body in fake.bodies}, {1200})

    def test_errors_can_be_pickled(self) -> None:
        for e in (jeton.Unavailable([jeton.Attempt("http://a", "why")]), jeton.JetonError("d", type="t", title="x", status=404, field="f", address="http://a")):
            again = pickle.loads(pickle.dumps(e))
            self.assertEqual((type(again), str(again), vars(again)), (type(e), str(e), vars(e)))

    def test_nobody_listens(self) -> None:
        with fakes.serving(fakes.silent) as gone:
            pass
        begin = time.monotonic()
        with jeton.Client(gone.url, timeout=90) as client, self.assertRaisesRegex(jeton.Unavailable, "cannot connect"):
            client.check("u", "login")
        self.assertLess(time.monotonic() - begin, 30)
        with jeton.Client([gone.url, *cluster.shared().addresses], timeout=30) as client:
            for i in range(2):
                client._first = i
                self.assertTrue(client.check_all([{"key": f"nobody:{os.getpid()}", "limits": "login"}]).allowed)

    def test_every_answer_is_lost_once(self) -> None:
        """The owner decides each check twice, and charges it once."""
        key, (node,) = f"lost:{os.getpid()}", cluster.shared().addresses
        with fakes.serving(fakes.losing(node)) as loses:
            urls = [loses.url, node]
            with concurrent.futures.ThreadPoolExecutor(4) as pool:

                def check(_: int) -> bool:
                    with jeton.Client(urls, timeout=30) as client:
                        client._first = 0
                        return client.check(key, "once").allowed

                self.assertEqual(list(pool.map(check, range(320))).count(True), 300)
            self.assertEqual(len(loses.bodies), 320)

    def test_check_all_is_repeated_only_where_it_was_not_done(self) -> None:
        checks = [{"key": "u", "limits": "login"}]
        for name in ("silence", "a closed connection", "half a body", "no JSON", "504"):
            with self.subTest(name), fakes.serving(BROKEN[name]) as bad, fakes.serving(says(fakes.allowed())) as good:
                with jeton.Client([bad.url, good.url], timeout=LATE) as client:
                    client._first = 0
                    self.assertRaises(jeton.Unavailable, client.check_all, checks)
                    self.assertEqual((len(bad.bodies), len(good.bodies)), (1, 0))
        answer = http(200, {"allowed": True, "checks": [None]})
        with fakes.serving(BROKEN["503"]) as bad, fakes.serving(says(answer)) as good, jeton.Client([bad.url, good.url], timeout=30) as client:
            client._first = 0
            self.assertTrue(client.check_all(checks).allowed)

    def test_a_kept_connection_that_was_closed(self) -> None:
        with fakes.serving(says(fakes.allowed())) as fake, jeton.Client(fake.url, timeout=30) as client:  # it closes without saying so
            for _ in range(3):
                client.check("u", "login")
            self.assertEqual((fake.connections, len(fake.bodies)), (3, 3))
        with fakes.serving(says(fakes.allowed()), keep=True) as fake, jeton.Client(fake.url, timeout=30) as client:
            for _ in range(3):
                client.check("u", "login")
            self.assertEqual((fake.connections, len(fake.bodies)), (1, 3))

    def test_answers_that_end_with_their_connection(self) -> None:
        head, _, body = fakes.allowed().partition(b"\r\n\r\n")
        for first in (b"HTTP/1.0 200 OK\r\n\r\n", head + b"\r\nConnection: close\r\n\r\n"):

            def answer(fake: fakes.Fake, connection: Any) -> None:
                for piece in (first, body[:20], body[20:]):
                    connection.sendall(piece)
                    fake.over.wait(0.05)

            with self.subTest(first), fakes.serving(answer) as fake, jeton.Client(fake.url, timeout=30) as client:
                for _ in range(2):
                    self.assertEqual(client.check("u", "login").remaining, 9)
                self.assertEqual(fake.connections, 2)

    def test_two_answers_to_one_question(self) -> None:
        """The second one, which comes late, is not the answer to the next question."""

        def answer(fake: fakes.Fake, connection: Any) -> None:
            connection.sendall(fakes.allowed("first"))
            fake.over.wait(0.02)
            connection.sendall(fakes.allowed("second"))
            came.set()

        with fakes.serving(answer, keep=True) as fake, jeton.Client(fake.url, timeout=30) as client:
            for _ in range(3):
                came = threading.Event()
                self.assertEqual(client.check("u", "login").limits[0].name, "first")
                self.assertTrue(came.wait(60))

    def test_the_head(self) -> None:
        with fakes.serving(says(fakes.allowed()), keep=True) as fake, jeton.Client(fake.url + "/clusters/eu/", timeout=30, token=lambda: "t0ken\n") as client:
            client.check("ü", "login", plan="pro", cost=3)
            self.assertIn("POST /clusters/eu/v1/check HTTP/1.1\r\n", fake.heads[0])
            self.assertIn("\r\nAuthorization: Bearer t0ken", fake.heads[0])
            id = fake.bodies[0].pop("request_id")
            self.assertEqual(len(id), 32)
            self.assertEqual(fake.bodies[0], {"key": "ü", "limits": ["login"], "cost": 3, "plan": "pro"})

    def test_https(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cert, private = os.path.join(folder, "cert"), os.path.join(folder, "key")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", private, "-out", cert],
                check=True, capture_output=True,
            )
            server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.load_cert_chain(cert, private)
            trust = ssl.create_default_context(cafile=cert)
        with fakes.serving(says(fakes.allowed()), keep=True, tls=server) as fake:
            with jeton.Client(fake.url, timeout=30, ssl_context=trust) as client:
                for _ in range(3):
                    self.assertTrue(client.check("u", "login").allowed)
                self.assertEqual(fake.connections, 1)
            with jeton.Client(fake.url, timeout=30, token="secret") as client, self.assertRaisesRegex(jeton.Unavailable, "certificate"):
                client.check("u", "login")
            self.assertEqual(len(fake.bodies), 3)
        with fakes.serving(fakes.silent) as fake, jeton.Client(fake.url.replace("http:", "https:"), timeout=TIMEOUT) as client:
            begin = time.monotonic()
            self.assertRaises(jeton.Unavailable, client.check, "u", "login")
            self.assertLess(time.monotonic() - begin, TIMEOUT + SLACK)


class Failure(unittest.TestCase):
    """What is told of an address that is wrong, and to whom."""

    def test_what_to_name(self) -> None:
        ports = "name the HTTP port of a node, 7702 unless said, or the admin port of a gateway, 7781 unless said"
        page, settings = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 64, 0])
        for answer, said in (
            (page, f"answered 200, and not as jeton's API does: {ports}"),
            (http(200, {"hello": "world"}), f"answered 200, and not as jeton's API does: {ports}"),
            (http(404, b"nothing here", "text/plain"), f"answered 404, and not as jeton's API does: {ports}"),
            (http(307, b"", "text/plain", "Location: /"), f"answered 307, and not as jeton's API does: {ports}; redirects are not followed"),
            (settings, f"answered, and not in HTTP/1.1: {ports}"),
        ):
            with self.subTest(said), fakes.serving(says(answer)) as fake, jeton.Client(fake.url, timeout=30) as client, self.assertRaises(jeton.JetonError) as caught:
                client.check("u", "login")
            self.assertTrue(fake.url in str(caught.exception) and str(caught.exception).endswith(said), caught.exception)
            self.assertNotIn("no answer", str(caught.exception))

    def test_the_port_of_grpc(self) -> None:
        said = re.search(r"node-1 +gRPC (\S+)", cluster.shared().said)
        assert said is not None
        with jeton.Client("http://" + said[1], timeout=30) as client, self.assertRaisesRegex(jeton.Unavailable, "(answered, and not in HTTP/1.1:|closed the connection without an answer; if it always does,) name the HTTP port"):
            client.check("u", "login")

    def test_tls_at_a_plain_port(self) -> None:
        url = cluster.shared().addresses[0].replace("http:", "https:")
        with jeton.Client(url, timeout=30) as client:
            with self.assertRaisesRegex(jeton.Unavailable, f"{url}: answered, and not in TLS: write http:// for a port without it, and name the HTTP port"):
                client.check("u", "login")

    def test_on_failure(self) -> None:
        told: List[Exception] = []
        with fakes.serving(says(http(200, b"hello"))) as fake, jeton.Client(fake.url, timeout=30, on_unavailable="allow", on_failure=told.append) as client:
            with self.assertNoLogs("jeton") if hasattr(self, "assertNoLogs") else contextlib.nullcontext():
                client.check("u", "login")
                client.hold("u", "login", for_=60, on_unavailable="deny")
                client.check_all([{"key": "u", "limits": "login"}])
            self.assertEqual([type(e) for e in told], [jeton.Unavailable] * 3)
            self.assertIn(fake.url, str(told[0]))
            self.assertRaises(jeton.Unavailable, client.check, "u", "login", on_unavailable="error")
            self.assertRaises(jeton.Unavailable, client.look, "u", "login")
            self.assertEqual(len(told), 3)
        with self.assertRaisesRegex(TypeError, "^on_failure"):
            jeton.Client("http://a", on_failure="log")

    def test_a_warning_once_a_minute_at_most(self) -> None:
        error, warn = jeton.Unavailable([jeton.Attempt("http://a", "why")]), failure.warning()
        with self.assertLogs("jeton", "WARNING") as logs, unittest.mock.patch("jeton.failure.time.monotonic") as now:
            for now.return_value, count in ((100.0, 1), (100.1, 1), (159.0, 1), (161.0, 2)):
                warn(error)
                self.assertEqual(len(logs.output), count)
        self.assertEqual(logs.output[0], "WARNING:jeton:on_unavailable decides in place of the cluster: no usable answer: http://a: why")
        with fakes.serving(fakes.silent) as gone:
            pass
        with self.assertLogs("jeton", "WARNING") as logs, jeton.Client(gone.url, on_unavailable="allow") as client:
            self.assertEqual([client.check("u", "login").allowed for _ in range(2)], [True, True])
        self.assertEqual(len(logs.output), 1)


class Crash(unittest.TestCase):
    """A node is killed, or frozen, in the middle of checks."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = cluster.Cluster(3)
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self) -> None:
        self.client = jeton.Client(self.cluster.addresses, timeout=30)
        self.addCleanup(self.client.close)

    def through(self, key: str, harm: Any) -> None:
        """450 checks by eight threads, where harm is done after a hundred, and before the last fifty: none ends with an error, and the bucket is
        spent."""
        harmed = threading.Event()

        def check(i: int) -> bool:
            if i >= 400:
                harmed.wait()
            return self.client.check(key, "once").allowed

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            checks = [pool.submit(check, i) for i in range(450)]
            try:
                next(iter(concurrent.futures.as_completed(checks[100:])))
                harm()
            finally:
                harmed.set()
            allowed = [f.result() for f in checks].count(True)  # an error is raised here
        cluster.spent_once(self, allowed, self.client.look(key, "once").remaining)

    def owned(self, by: int) -> str:
        """A key whose owner is the node of that index."""
        for i in range(100):
            key = f"crash:{self.id()}:{by}:{i}"
            self.client.look(key, "once")
            if self.client.bucket("once", key)["node"] == f"node-{by + 1}":
                return key
        raise AssertionError("no such key")

    def test_the_node_that_is_asked_is_killed(self) -> None:
        for asked in range(3):
            key = self.owned((asked + 1) % 3)
            self.client._first = asked
            again: List[Callable[[], None]] = []
            self.through(key, lambda: again.append(self.cluster.kill(asked)))
            self.assertNotEqual(self.client._first, asked, "the node that was killed was not asked")
            again[0]()

    def test_the_owner_is_killed(self) -> None:
        """What it had charged and not answered yet is charged again, and the next owner may have reserved as much in vain."""
        again: List[Callable[[], None]] = []
        self.through(self.owned(0), lambda: again.append(self.cluster.kill(0)))
        again[0]()

    def test_the_node_that_is_asked_is_frozen(self) -> None:
        key, thaw = self.owned(2), []
        self.client._first = 1
        try:
            self.through(key, lambda: thaw.append(self.cluster.freeze(1)))
        finally:
            for t in thaw:
                t()


if __name__ == "__main__":
    unittest.main()
