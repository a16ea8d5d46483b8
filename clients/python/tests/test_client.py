"""Every call, against a real cluster, and what is refused."""

import concurrent.futures
import itertools
import math
import os
import threading
import time
import unittest

import cluster
import jeton

numbers = itertools.count()


def key() -> str:
    """A key that no other test has."""
    return f"client:{os.getpid()}:{next(numbers)}"


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        self.client = jeton.Client(cluster.shared().addresses, timeout=30)
        self.addCleanup(self.client.close)
        self.key = key()

    def test_check(self) -> None:
        for left in (1, 0):
            d = self.client.check(self.key, "strict")
            self.assertTrue(d.allowed)
            self.assertEqual((d.limit, d.remaining, d.retry_after, d.decided_by, d.failed_open), (2, left, 0, "cluster", False))
        d = self.client.check(self.key, "strict")
        self.assertFalse(d.allowed)
        self.assertEqual([o.name for o in d.limits], ["strict"])
        assert d.retry_after is not None and d.reset_after is not None
        self.assertTrue(3500 < d.retry_after <= 3600, d)  # less by what has passed since the first one
        self.assertTrue(7100 < d.reset_after <= 7200, d)
        self.assertFalse(self.client.check(self.key, ["login", "strict"]).allowed)
        self.assertEqual(self.client.look(self.key, "login").remaining, 10, "one limit denied, and another was charged")

    def test_what_a_check_may_say(self) -> None:
        d = self.client.check(self.key, "login", cost=11)
        self.assertEqual((d.allowed, d.retry_after), (False, None))
        self.assertEqual(self.client.check(self.key, "login", cost=4).remaining, 6)
        self.assertEqual(self.client.look(self.key, ["login", "strict"]).remaining, 2)
        self.assertEqual(self.client.check(self.key, "planned", plan="pro").limit, 50)
        burst = {"name": "burst", "capacity": 3, "refill": "1/h"}
        self.assertEqual(self.client.check(self.key, burst).limit, 3)
        self.assertEqual(len(self.client.check(self.key, [burst, "login"]).limits), 2)
        self.client.check(self.key, "waiting")
        waits = self.client.check(self.key, "waiting", wait=25)
        self.assertTrue(waits.allowed and 0 < waits.wait <= 20, waits)

    def test_a_request_id_is_charged_once(self) -> None:
        for _ in range(3):
            self.assertEqual(self.client.check(self.key, "demo", request_id="one").remaining, 9)
        self.assertEqual(self.client.check(self.key, "demo").remaining, 8)

    def test_receipts(self) -> None:
        receipts = [r for _ in range(2) for r in self.client.check(self.key, "strict", receipt=True).receipts]
        self.assertEqual(self.client.give_back(self.key, receipts[:1]), [True])
        self.assertEqual(self.client.give_back(self.key, receipts), [False, True])
        self.assertEqual(self.client.look(self.key, "strict").remaining, 2)

    def test_permits(self) -> None:
        permit = self.client.check(self.key, "inside", receipt=True)
        again = self.client.extend(self.key, permit.receipts[0])
        self.assertTrue(again.allowed)
        self.assertEqual(self.client.give_back(self.key, again.receipts), [True])
        ended = self.client.extend(self.key, permit.receipts[0])
        self.assertEqual((ended.allowed, ended.limits[0].ended, ended.retry_after), (False, True, None))

    def test_holds(self) -> None:
        d = self.client.hold(self.key, "tokens", cost=3000, for_=60)
        assert d.hold is not None
        self.assertEqual((d.granted, d.hold.granted, d.remaining), (3000, 3000, 7000))
        more = d.hold.extend(90.5, cost=10)
        assert more.until_ns is not None
        self.assertAlmostEqual(int(more.until_ns) / 1e9, time.time() + 90.5, delta=30)
        self.assertEqual(d.hold.settle(100, open=True, for_=30).limits[0].state, "open")
        self.assertFalse(d.hold.settled)
        settled = d.hold.settle(1200)
        self.assertEqual((settled.charged, settled.returned, settled.debt, settled.until_ns), (1200, 1800, 0, None))
        self.assertEqual(self.client.settle(d.hold.id, 1200), settled, "a settlement that is repeated has another answer")
        other = key()
        self.client.check(other, "tokens", cost=6000)  # which come back within 36 s
        least = self.client.hold(other, "tokens", cost=10000, least=4000, for_=60)
        self.assertTrue(4000 <= least.granted < 10000, least)
        denied = self.client.hold(other, "tokens", cost=9000, for_=60)
        self.assertEqual((denied.allowed, denied.hold), (False, None))

    def test_a_hold_around_what_fails(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.client.hold(self.key, "tokens", cost=10000, for_=60) as held:
            self.assertTrue(held.allowed)
            1 / 0
        self.assertEqual(self.client.look(self.key, "tokens").remaining, 10000, "the hold was not released")
        with self.assertRaises(ZeroDivisionError), self.client.hold(self.key, "tokens", cost=10000, for_=60) as held:
            assert held.hold is not None
            held.hold.settle(9000)
            1 / 0
        self.assertLess(self.client.look(self.key, "tokens").remaining or 0, 5000, "what was settled came back")
        with self.client.hold(self.key, "tokens", cost=20000, for_=60) as held:
            self.assertFalse(held.allowed)

    def test_check_all(self) -> None:
        other = key()
        all = self.client.check_all([
            {"key": self.key, "limits": "demo", "receipt": True},
            {"key": other, "limits": ["strict"], "cost": 2},
        ])
        self.assertTrue(all.allowed and all.denied is None and all.retry_after == 0, all)
        assert all.checks[0] is not None and all.checks[1] is not None
        self.assertEqual((all.checks[0].remaining, all.checks[1].remaining), (9, 0))
        self.assertEqual(len(all.checks[0].receipts), 1)
        all = self.client.check_all([{"key": self.key, "limits": "demo"}, {"key": other, "limits": "strict"}, {"key": key(), "limits": "demo"}])
        self.assertEqual((all.allowed, all.denied), (False, jeton.Denial(1, other, "strict")))
        self.assertIsNone(all.checks[2])
        assert all.retry_after is not None
        self.assertTrue(1000 < all.retry_after <= 3600)
        self.assertEqual(math.floor(self.client.look(self.key, "demo").remaining or 0), 9, "what the first check took was kept")
        all = self.client.check_all([{"key": self.key, "limits": "tokens", "cost": 10, "for_": 60}])
        assert all.checks[0] is not None and all.checks[0].hold is not None
        self.assertEqual(all.checks[0].hold.release().returned, 10)

    def test_bucket_and_limits(self) -> None:
        odd = f"{self.key}//../ü%2F?&#"
        self.client.check(odd, "strict")
        bucket = self.client.bucket("strict", odd)
        self.assertEqual((bucket["key"], bucket["tokens"]), (odd, 1))
        self.assertEqual(self.client.bucket("planned", self.key, plan="pro")["limit"]["capacity"], 50)
        self.assertEqual(self.client.limits()["strict"]["capacity"], 2)

    def test_many_threads(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            got = list(pool.map(lambda _: self.client.check(self.key, "once").allowed, range(400)))
        self.assertEqual((got.count(True), self.client.look(self.key, "once").remaining), (300, 0))

    def test_a_forked_process_has_connections_of_its_own(self) -> None:
        self.client.check(self.key, "login")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ok = all(self.client.look(f"{self.key}-{i}", "login").remaining == 10 for i in range(50))
                os.write(writer, b"y" if ok else b"n")
            finally:
                os._exit(0)
        parent = all(self.client.look(self.key, "once").remaining == 300 for _ in range(50))
        os.waitpid(child, 0)
        os.close(writer)
        self.assertEqual((os.read(reader, 2), parent), (b"y", True))
        os.close(reader)

    def test_connections_are_kept(self) -> None:
        client = jeton.Client(cluster.shared().addresses[0], timeout=30)
        self.addCleanup(client.close)
        client.look(self.key, "login")
        kept = client._pool._idle[client.addresses[0].text]
        first = kept[0].sock
        for _ in range(5):
            client.look(self.key, "login")
        self.assertEqual((len(kept), kept[0].sock), (1, first))


class Refused(unittest.TestCase):
    """Wrong input is refused whatever on_unavailable says."""

    def setUp(self) -> None:
        self.client = jeton.Client(cluster.shared().addresses, timeout=30, on_unavailable="allow")
        self.addCleanup(self.client.close)

    def refused(self, call, status: int, type: str, field: object) -> jeton.JetonError:  # type: ignore[no-untyped-def]
        with self.assertRaises(jeton.JetonError) as caught:
            call()
        e = caught.exception
        self.assertNotIsInstance(e, jeton.Unavailable)
        self.assertEqual((e.status, e.type, e.field), (status, "urn:jeton:problem:" + type, field))
        self.assertEqual(str(e), e.detail)
        self.assertTrue(e.title and e.detail)
        return e

    def test_by_the_cluster(self) -> None:
        c = self.client
        e = self.refused(lambda: c.check("u", "logi"), 404, "unknown-limit", None)
        self.assertIn("login", e.detail)
        self.assertIn("or ask with look() to take none", self.refused(lambda: c.check("u", "login", cost=0), 400, "invalid-request", "cost").detail)
        self.assertIn(e.address, cluster.shared().addresses)
        invalid = [
            ("key", lambda: c.check("", "login")),
            ("key", lambda: c.check("k" * 513, "login")),
            ("body", lambda: c.check("u\ud800", "login")),
            ("key", lambda: c.check(7, "login")),
            ("limits", lambda: c.check("u", [])),
            ("limits[0].refill", lambda: c.check("u", {"name": "x", "capacity": 1, "refill": "5/q"})),
            ("cost", lambda: c.check("u", "login", cost=0)),
            ("cost", lambda: c.check("u", "login", cost=-1)),
            ("cost", lambda: c.check("u", "login", cost="1")),
            ("cost", lambda: c.check("u", "login", cost=1.5)),
            ("wait_ms", lambda: c.check("u", "login", wait=-1)),
            ("wait_ms", lambda: c.check("u", "login", wait=31)),
            ("plan", lambda: c.check("u", "login", plan="nothing")),
            ("for", lambda: c.hold("u", "tokens", for_=0)),
            ("for", lambda: c.hold("u", "tokens", for_=3600)),
            ("least", lambda: c.hold("u", "tokens", for_=60, cost=5, least=6)),
            ("hold", lambda: c.settle("nonsense", 1)),
            ("receipt", lambda: c.extend("u", {})),
            ("checks", lambda: c.check_all([])),
            ("checks[1].cost", lambda: c.check_all([{"key": "u", "limits": "login"}, {"key": "v", "limits": "login", "cost": -1}])),
        ]
        for field, call in invalid:
            with self.subTest(field=field):
                self.refused(call, 400, "invalid-request", field)

    def test_a_body_that_is_too_large(self) -> None:
        self.refused(lambda: self.client.check("k" * (1 << 20), "login"), 413, "too-large", None)

    def test_before_a_node_is_asked(self) -> None:
        c = self.client
        for wrong, call in (
            ("addresses", lambda: jeton.Client([])), ("addresses", lambda: jeton.Client("localhost:7702")), ("addresses", lambda: jeton.Client("")),
            ("addresses", lambda: jeton.Client("ftp://a")), ("addresses", lambda: jeton.Client("http://a:x")), ("addresses", lambda: jeton.Client("http://a:99999")),
            ("addresses", lambda: jeton.Client("http://a?b=c")), ("addresses", lambda: jeton.Client("http://me:secret@a")), ("addresses", lambda: jeton.Client("http://a b")),
            ("addresses", lambda: jeton.Client([None])), ("addresses", lambda: jeton.Client("http://")), ("addresses", lambda: jeton.Client("http://a\r\nb")),
            ("timeout", lambda: jeton.Client("http://a", timeout=0)), ("timeout", lambda: jeton.Client("http://a", timeout=float("nan"))),
            ("timeout", lambda: jeton.Client("http://a", timeout="1")),
            ("on_unavailable", lambda: jeton.Client("http://a", on_unavailable="local")), ("on_unavailable", lambda: c.check("u", "login", on_unavailable="")),
            *(("token", lambda t=t: jeton.Client("http://a", token=t)) for t in ("a\r\nb: c", "", "\n", "sécret")),
            ("wait", lambda: c.check("u", "login", wait=float("inf"))), ("for_", lambda: c.hold("u", "tokens", for_="60s")),
            ("hold", lambda: c.settle(None, 1)),
        ):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(ValueError, "^" + wrong):
                call()
        for none in (None, 7):
            with self.assertRaisesRegex(TypeError, '^addresses: .* give a URL such as "http://localhost:7702"'):
                jeton.Client(none)
        with self.assertRaises(TypeError):
            c.check(b"u", "login")
        with self.assertRaises(TypeError):
            c.check_all([{"key": "u", "limits": "login", "requestid": "x"}])


class Addresses(unittest.TestCase):
    def test_forms(self) -> None:
        for text, host, port, path in (
            ("http://a", "a", 80, ""), ("https://a/", "a", 443, ""), ("http://[::1]:7702", "::1", 7702, ""), ("http://a:1/clusters/eu/", "a", 1, "/clusters/eu"),
        ):
            a = jeton.Client(text).addresses[0]
            self.assertEqual((a.host, a.port, a.path), (host, port, path))

    def test_a_token_is_sent(self) -> None:
        asked = []

        def token() -> str:
            asked.append(threading.get_ident())
            return "nonsense"

        client = jeton.Client(cluster.shared().addresses, timeout=30, token=token)
        self.addCleanup(client.close)
        client.check(key(), "login")
        self.assertEqual(len(asked), 1)


if __name__ == "__main__":
    unittest.main()
