"""AsyncClient: a Client for asyncio. Each call runs in a thread of a small pool, so there is one client and one meaning."""

import asyncio
import concurrent.futures
import dataclasses
import os
import ssl
import time
from types import TracebackType
from typing import Any, Callable, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from . import answers
from .answers import JSON, Decided, Denial, Settled
from .client import AllDecision, Client, Decision, Hold, Limits, Token
from .errors import JetonError
from .failure import OnFailure

T = TypeVar("T")


class AsyncHold:
    """A Hold whose methods are awaited."""

    def __init__(self, client: "AsyncClient", hold: Hold) -> None:
        self.id, self.granted, self.settled = hold.id, hold.granted, False
        self._client = client

    async def settle(self, cost: int, *, open: bool = False, for_: Optional[float] = None) -> Settled:
        """Says how many tokens were used in all. With open, more may be used, and it lasts for_ seconds from now on."""
        self.settled = self.settled or not open
        return await self._client.settle(self, cost, open=open, for_=for_)

    async def extend(self, for_: float, *, cost: int = 0) -> Settled:
        """Makes it last so many seconds from now on. The cost is what was used so far."""
        return await self._client.extend_hold(self, for_, cost=cost)

    async def release(self) -> Settled:
        """Settles it with nothing used."""
        return await self.settle(0)


@dataclasses.dataclass(frozen=True)
class AsyncDecision(Decided):
    """A Decision of an AsyncClient: with async with, it releases its hold when an exception leaves the block."""

    hold: Optional[AsyncHold] = None

    async def __aenter__(self) -> "AsyncDecision":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], _e: Optional[BaseException], _t: Optional[TracebackType]) -> None:
        if kind is not None and self.hold is not None and not self.hold.settled:
            try:
                await self.hold.release()
            except JetonError:
                pass  # it ends by itself, and the exception on its way says more


@dataclasses.dataclass(frozen=True)
class AsyncAllDecision(answers.Said):
    """An AllDecision of an AsyncClient."""

    allowed: bool
    checks: List[Optional[AsyncDecision]]
    denied: Optional[Denial]
    wait: float
    decided_by: str

    @property
    def outcomes(self) -> List[answers.Outcome]:
        return [o for d in self.checks if d is not None for o in d.limits]


class AsyncClient:
    """A Client for asyncio, with the same options and calls. At most so many calls as it has threads are on their way at once;
    further ones wait for a thread, within their own timeout. A call that is cancelled ends in its thread, and a hold that it still
    brings is released."""

    def __init__(
        self,
        addresses: Union[str, Sequence[str]],
        token: Token = None,
        timeout: float = 1.0,
        on_unavailable: str = "error",
        *,
        on_failure: Optional[OnFailure] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
        threads: int = 32,
    ) -> None:
        self.client = Client(addresses, token, timeout, on_unavailable, on_failure=on_failure, ssl_context=ssl_context)
        self._threads = threads
        self._made_by, self._pool = 0, None  # type: int, Optional[concurrent.futures.ThreadPoolExecutor]

    async def check(
        self,
        key: str,
        limits: Limits,
        *,
        cost: Optional[int] = None,
        plan: Optional[str] = None,
        wait: Optional[float] = None,
        receipt: bool = False,
        request_id: Optional[str] = None,
        on_unavailable: Optional[str] = None,
    ) -> AsyncDecision:
        """Takes tokens of all these limits, or of none. Without a cost it takes 1."""
        options = dict(cost=cost, plan=plan, wait=wait, receipt=receipt, request_id=request_id, on_unavailable=on_unavailable)
        return self._mine(await self._run(self.client.check, key, limits, **options))

    async def check_all(self, checks: Sequence[Mapping[str, Any]], *, on_unavailable: Optional[str] = None) -> AsyncAllDecision:
        """Checks of several keys: all are allowed, or none is charged."""
        all: AllDecision = await self._run(self.client.check_all, checks, on_unavailable=on_unavailable)
        return AsyncAllDecision(all.allowed, [None if d is None else self._mine(d) for d in all.checks], all.denied, all.wait, all.decided_by)

    async def look(self, key: str, limits: Limits, *, plan: Optional[str] = None) -> AsyncDecision:
        """Reads what is left, and takes nothing."""
        return self._mine(await self._run(self.client.look, key, limits, plan=plan))

    async def hold(
        self,
        key: str,
        limits: Limits,
        *,
        for_: float,
        cost: Optional[int] = None,
        least: Optional[int] = None,
        plan: Optional[str] = None,
        request_id: Optional[str] = None,
        on_unavailable: Optional[str] = None,
    ) -> AsyncDecision:
        """Takes tokens for for_ seconds, by an estimate. With least, it takes what is left, and at least this."""
        options = dict(for_=for_, cost=cost, least=least, plan=plan, request_id=request_id, on_unavailable=on_unavailable)
        return self._mine(await self._run(self.client.hold, key, limits, **options))

    async def settle(self, hold: Union[AsyncHold, str], cost: int, *, open: bool = False, for_: Optional[float] = None) -> Settled:
        """Says how many tokens of a hold were used in all."""
        return await self._run(self.client.settle, hold, cost, open=open, for_=for_)

    async def extend_hold(self, hold: Union[AsyncHold, str], for_: float, *, cost: int = 0) -> Settled:
        """Makes a hold last so many seconds from now on."""
        return await self._run(self.client.extend_hold, hold, for_, cost=cost)

    async def extend(self, key: str, receipt: JSON) -> AsyncDecision:
        """Makes a permit of a concurrency limit last its lease from now on."""
        return self._mine(await self._run(self.client.extend, key, receipt))

    async def give_back(self, key: str, receipts: Sequence[JSON]) -> List[bool]:
        """Gives back what receipts stand for, and says of each whether that took effect."""
        return await self._run(self.client.give_back, key, receipts)

    async def bucket(self, limit: str, key: str, *, plan: Optional[str] = None) -> JSON:
        """The bucket as docs/api.md shows it."""
        return await self._run(self.client.bucket, limit, key, plan=plan)

    async def limits(self) -> JSON:
        """The limits in force, by name."""
        return await self._run(self.client.limits)

    async def close(self) -> None:
        """Ends the threads, once their calls have ended, and closes the connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)
        self.client.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _mine(self, d: Decision) -> AsyncDecision:
        hold = None if d.hold is None else AsyncHold(self, d.hold)
        return AsyncDecision(d.allowed, d.limits, d.wait, d.receipts, d.granted, d.decided_by, hold)

    async def _run(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        """What a call of the Client returns, made in a thread. The time that it waits for one counts."""
        deadline = time.monotonic() + self.client.timeout
        if self._pool is None or self._made_by != os.getpid():  # a forked process has none of the threads
            self._made_by, self._pool = os.getpid(), concurrent.futures.ThreadPoolExecutor(self._threads, "jeton")
        future: "concurrent.futures.Future[T]" = self._pool.submit(lambda: self.client.within(deadline, lambda: call(*args, **options)))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_release)
            raise


def _release(future: "concurrent.futures.Future[Any]") -> None:
    """Releases what a call has brought that nobody waits for."""
    hold = None if future.cancelled() or future.exception() else getattr(future.result(), "hold", None)
    if isinstance(hold, Hold):
        try:
            hold.release()
        except JetonError:
            pass  # it ends by itself
