"""AsyncClient: the same calls, many at once, cancelled, and late."""

import asyncio
import os
import threading
import time
import unittest
from typing import Any, Callable

import cluster
import fakes
import jeton


class Beside:
    """A thread beside the loop of its caller, and how many hundredths of a second it has lived through, at most, while the loop stood still.
    A machine that stalls stalls both, and counts for nothing."""

    def __enter__(self) -> "Beside":
        self.ticks = self.longest = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        self.ticking = asyncio.ensure_future(self._tick())
        return self

    def __exit__(self, *_: object) -> None:
        self.ticking.cancel()
        self.over.set()
        self.thread.join()

    async def _tick(self) -> None:
        while True:
            self.ticks += 1
            await asyncio.sleep(0.01)

    def _watch(self) -> None:
        seen, still = 0, 0
        while not self.over.wait(0.01):
            if self.ticks != seen:
                seen, still = self.ticks, 0
            else:
                still += 1
                self.longest = max(self.longest, still)


class Async(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        cluster.shared()  # before there is a loop that this would block

    async def asyncSetUp(self) -> None:
        self.client = jeton.AsyncClient(cluster.shared().addresses, timeout=30)
        self.key = f"async:{os.getpid()}:{self.id()}"

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def test_calls(self) -> None:
        c, key = self.client, self.key
        d = await c.check(key, "strict", receipt=True)
        self.assertEqual((d.allowed, d.remaining, d.decided_by), (True, 1, "cluster"))
        self.assertEqual((await c.look(key, "strict")).remaining, 1)
        self.assertEqual(await c.give_back(key, d.receipts), [True])
        self.assertEqual((await c.bucket("strict", key))["tokens"], 2)
        self.assertIn("strict", await c.limits())
        permit = await c.check(key, "inside", receipt=True)
        self.assertTrue((await c.extend(key, permit.receipts[0])).allowed)
        all = await c.check_all([{"key": key, "limits": "login"}, {"key": key, "limits": "tokens", "cost": 10, "for_": 60}])
        assert all.checks[1] is not None and all.checks[1].hold is not None
        self.assertEqual((await all.checks[1].hold.release()).returned, 10)
        held = await c.hold(key, "tokens", cost=3000, for_=60)
        assert held.hold is not None
        await held.hold.extend(90)
        self.assertEqual((await held.hold.settle(1200)).returned, 1800)
        self.assertEqual((await c.settle(held.hold, 1200)).returned, 1800)
        with self.assertRaises(jeton.JetonError):
            await c.extend_hold("nonsense", 60)
        with self.assertRaisesRegex(jeton.JetonError, "unknown limit"):
            await c.check(key, "nothing")

    async def test_a_hold_around_what_fails(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            async with await self.client.hold(self.key, "tokens", cost=10000, for_=60) as held:
                self.assertTrue(held.allowed)
                1 / 0
        self.assertEqual((await self.client.look(self.key, "tokens")).remaining, 10000)

    async def test_many_at_once(self) -> None:
        got = await asyncio.gather(*(self.client.check(self.key, "once") for _ in range(500)))
        self.assertEqual(([d.allowed for d in got].count(True), (await self.client.look(self.key, "once")).remaining), (300, 0))

    async def test_more_than_there_are_threads_are_late_together(self) -> None:
        with fakes.serving(fakes.silent) as fake:
            async with jeton.AsyncClient(fake.url, timeout=4, on_unavailable="deny", threads=4) as client:
                begin = time.monotonic()
                with Beside() as beside:
                    got = await asyncio.gather(*(client.check("u", "login") for _ in range(40)))
                self.assertLess(time.monotonic() - begin, 30, "they were late one after the other, ten on each thread")
                self.assertEqual({d.decided_by for d in got}, {"deny"})
                self.assertLess(beside.longest, 200, "a call has blocked the loop for half of its timeout")

    async def test_a_hold_that_is_cancelled_is_released(self) -> None:
        cancelled = threading.Event()

        def answer(fake: fakes.Fake, connection: Any) -> None:
            if b'"for"' in fake.of_thread.body:
                cancelled.wait(60)
                connection.sendall(fakes.http(200, {"allowed": True, "limits": [], "hold": "a text", "granted": 10}))
            else:
                connection.sendall(fakes.http(200, {"charged": 0, "returned": 10, "debt": 0, "limits": []}))

        with fakes.serving(answer) as fake:
            async with jeton.AsyncClient(fake.url, timeout=30) as client:
                task = asyncio.ensure_future(client.hold("u", "tokens", cost=10, for_=60))
                await self.until(lambda: len(fake.bodies) == 1)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                cancelled.set()
                await self.until(lambda: len(fake.bodies) == 2)
            self.assertEqual(fake.bodies[1], {"hold": "a text", "cost": 0, "open": False})

    async def until(self, true: Callable[[], bool]) -> None:
        for _ in range(18000):
            if true():
                return
            await asyncio.sleep(0.01)
        self.fail("what was waited for has not come")


if __name__ == "__main__":
    unittest.main()
