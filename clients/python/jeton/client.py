"""Client, which asks a cluster over HTTP: each call at one address after the other, until one answers."""

import dataclasses
import json
import math
import random
import secrets
import ssl
import threading
import time
import urllib.parse
from types import TracebackType
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import answers
from .answers import JSON, Decided, Denial, Settled
from .errors import PORTS, Attempt, JetonError, Unavailable
from .failure import OnFailure, warning
from .wire import Address, Broken, NotSent, Pool

T = TypeVar("T")
Limits = Union[str, JSON, Sequence[Union[str, JSON]]]  # a name, or a limit in full, or several of them
Token = Union[str, Callable[[], str], None]

ROUNDS = 3  # how often a call goes round all addresses
_PAUSE = (0.010, 0.030)  # seconds between the first two rounds, and twice as long each time
_MAX_BODY, _MAX_ANSWER, _MAX_LIMITS = 1 << 20, 1 << 20, 64 << 20  # bytes
POLICIES = ("error", "deny", "allow")


class Hold:
    """Tokens that were taken for a time, by an estimate. It ends by itself, as on_expiry of its limits says."""

    def __init__(self, client: "Client", id: str, granted: int) -> None:
        self.id = id  # a text that settles it at any node, from any process
        self.granted = granted  # tokens, of each limit
        self.settled = False  # for good, as far as the caller is concerned: what was used has been said, even if it did not arrive
        self._client = client

    def settle(self, cost: int, *, open: bool = False, for_: Optional[float] = None) -> Settled:
        """Says how many tokens were used in all. With open, more may be used, and it lasts for_ seconds from now on."""
        self.settled = self.settled or not open
        return self._client.settle(self, cost, open=open, for_=for_)

    def extend(self, for_: float, *, cost: int = 0) -> Settled:
        """Makes it last so many seconds from now on. The cost is what was used so far."""
        return self._client.extend_hold(self, for_, cost=cost)

    def release(self) -> Settled:
        """Settles it with nothing used."""
        return self.settle(0)


@dataclasses.dataclass(frozen=True)
class Decision(Decided):
    """What a check, a look, a hold or the extension of a permit was answered.

    As a context manager, it releases its hold when an exception leaves the block before the hold was settled.
    """

    hold: Optional[Hold] = None

    def __enter__(self) -> "Decision":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _e: Optional[BaseException], _t: Optional[TracebackType]) -> None:
        if kind is not None and self.hold is not None and not self.hold.settled:
            try:
                self.hold.release()
            except JetonError:
                pass  # it ends by itself, and the exception on its way says more


@dataclasses.dataclass(frozen=True)
class AllDecision(answers.Said):
    """What check_all was answered: all were allowed, or none was charged."""

    allowed: bool
    checks: List[Optional[Decision]] = dataclasses.field(default_factory=list)  # None for one that was not asked
    denied: Optional[Denial] = None
    wait: float = 0.0  # the longest of the checks
    decided_by: str = "cluster"

    @property
    def outcomes(self) -> List[answers.Outcome]:
        return [o for d in self.checks if d is not None for o in d.limits]


class Client:
    """Asks a cluster. It is safe for concurrent use, and keeps connections open.

    addresses   where nodes, or gateways, serve HTTP: one URL such as http://a:7702, or several
    token       for Authorization, or a function that gives it; see docs/security.md for what needs one
    timeout     seconds that a call may take, with all that it tries
    on_unavailable   what check, check_all and hold do when there is no decision: "error" raises Unavailable, "deny" and
                "allow" answer with a Decision that says so in decided_by
    on_failure  called with the error each time that "deny" or "allow" decides; unless said, it warns in the log "jeton", once
                a minute at most. AsyncClient calls it in a thread
    ssl_context for https; None trusts what the system trusts
    """

    def __init__(
        self,
        addresses: Union[str, Sequence[str]],
        token: Token = None,
        timeout: float = 1.0,
        on_unavailable: str = "error",
        *,
        on_failure: Optional[OnFailure] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        if not isinstance(addresses, Iterable):
            raise TypeError(f'addresses: {addresses!r} is no address: give a URL such as "http://localhost:7702", or a list of them')
        self.addresses = [Address(a) for a in ([addresses] if isinstance(addresses, str) else addresses)]
        if not self.addresses:
            raise ValueError("addresses: there are none")
        self.timeout = min(seconds("timeout", timeout), 1e6)  # more than that is more than a socket takes
        if timeout <= 0:
            raise ValueError(f"timeout: {timeout!r} is not above 0")
        self.on_unavailable = policy(on_unavailable)
        if on_failure is not None and not callable(on_failure):
            raise TypeError("on_failure: is not a function")
        self._on_failure = on_failure or warning()
        self._token = token if token is None or callable(token) else bare(token)
        self._pool = Pool(ssl_context)
        self._first = random.randrange(len(self.addresses))  # the address that calls begin at: the one that answered last
        self._of_thread = threading.local()  # its deadline, where something else than the timeout sets one

    def check(
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
    ) -> Decision:
        """Takes tokens of all these limits, or of none. Without a cost it takes 1."""
        body = _check(key, limits, cost, plan, wait, receipt)
        body["request_id"] = request_id or secrets.token_hex(16)
        return self._decide("/v1/check", body, self._decision, Decision, on_unavailable)

    def check_all(self, checks: Sequence[Mapping[str, Any]], *, on_unavailable: Optional[str] = None) -> AllDecision:
        """Checks of several keys: all are allowed, or none is charged. Each has key and limits, and may have cost, plan,
        wait, receipt, and of a hold for_ and least."""
        body: JSON = {"checks": [_check(**each) for each in checks]}
        return self._decide("/v1/check-all", body, self._all, AllDecision, on_unavailable, repeat=False)

    def look(self, key: str, limits: Limits, *, plan: Optional[str] = None) -> Decision:
        """Reads what is left, and takes nothing."""
        return self._call("POST", "/v1/check", self._decision, {**_check(key, limits, plan=plan), "look": True})

    def hold(
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
    ) -> Decision:
        """Takes tokens for for_ seconds, by an estimate. With least, it takes what is left, and at least this."""
        body = _check(key, limits, cost, plan, for_=for_, least=least)
        body["request_id"] = request_id or secrets.token_hex(16)
        return self._decide("/v1/hold", body, self._decision, Decision, on_unavailable)

    def settle(self, hold: Union[Hold, str], cost: int, *, open: bool = False, for_: Optional[float] = None) -> Settled:
        """Says how many tokens of a hold were used in all. It takes effect once, however often it is sent."""
        body: JSON = {"hold": hold_id(hold), "cost": cost, "open": open}
        if for_ is not None:
            body["for"] = _duration("for_", for_)
        return self._call("POST", "/v1/settle", answers.settled, body)

    def extend_hold(self, hold: Union[Hold, str], for_: float, *, cost: int = 0) -> Settled:
        """Makes a hold last so many seconds from now on. The cost is what was used so far."""
        body = {"hold": hold_id(hold), "for": _duration("for_", for_), "cost": cost}
        return self._call("POST", "/v1/extend", answers.settled, body)

    def extend(self, key: str, receipt: JSON) -> Decision:
        """Makes a permit of a concurrency limit last its lease from now on."""
        return self._call("POST", "/v1/extend", self._decision, {"key": key, "receipt": receipt})

    def give_back(self, key: str, receipts: Sequence[JSON]) -> List[bool]:
        """Gives back what receipts stand for, and says of each whether that took effect."""
        body = {"key": key, "receipts": list(receipts)}
        return self._call("POST", "/v1/return", lambda of: answers.items(of, "returned"), body)

    def bucket(self, limit: str, key: str, *, plan: Optional[str] = None) -> JSON:
        """The bucket as docs/api.md shows it. Beyond loopback this takes a token."""
        path = f"/v1/buckets/{urllib.parse.quote(limit, safe='')}/{urllib.parse.quote(key, safe='')}"
        return self._call("GET", path + ("?" + urllib.parse.urlencode({"plan": plan}) if plan else ""), _object)

    def limits(self) -> JSON:
        """The limits in force, by name."""
        return self._call("GET", "/v1/limits", lambda of: answers.must(of, "limits", {}), most=_MAX_LIMITS)

    def within(self, deadline: float, call: Callable[[], T]) -> T:
        """Makes a call that is to end by then, on the clock time.monotonic, in the place of the timeout."""
        self._of_thread.deadline = deadline
        try:
            return call()
        finally:
            del self._of_thread.deadline

    def close(self) -> None:
        """Closes the connections that are idle. A call after it opens new ones."""
        self._pool.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decision(self, of: Any) -> Decision:
        fields, id = answers.decided(of), answers.take(of, "hold", "")
        return Decision(**fields, hold=Hold(self, id, fields["granted"]) if id else None)

    def _all(self, of: Any) -> AllDecision:
        checks = [None if d is None else self._decision(d) for d in answers.items(of, "checks")]
        denied = answers.denial(of["denied"]) if of.get("denied") is not None else None
        return AllDecision(answers.must(of, "allowed", False), checks, denied, answers.take(of, "wait_ms", 0) / 1000)

    def _decide(
        self, path: str, body: JSON, read: Callable[[Any], T], without: Callable[..., T], on_unavailable: Optional[str], repeat: bool = True
    ) -> T:
        chosen = self.on_unavailable if on_unavailable is None else policy(on_unavailable)
        try:
            return self._call("POST", path, read, body, repeat=repeat)
        except Unavailable as e:
            if chosen == "error":
                raise
            self._on_failure(e)
        return without(allowed=chosen == "allow", decided_by=chosen)

    def _call(
        self, method: str, path: str, read: Callable[[Any], T], body: Optional[JSON] = None, *, most: int = _MAX_ANSWER, repeat: bool = True
    ) -> T:
        """What one address answers, read. What is not to be repeated is asked again only where it was not done."""
        deadline = getattr(self._of_thread, "deadline", None) or time.monotonic() + self.timeout
        text = None if body is None else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        headers = {"Accept": "application/json"} if text is None else {"Content-Type": "application/json"}
        try:
            token = bare(self._token()) if callable(self._token) else self._token
        except Exception as e:
            raise Unavailable([Attempt("token", str(e))]) from e
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        if text is not None and len(text) > _MAX_BODY:  # a node answers so, or breaks off while it is still being sent
            detail = f"a body may have up to {_MAX_BODY} bytes"
            raise JetonError(detail, type="urn:jeton:problem:too-large", title="The body is too large", status=413)
        failed: List[Attempt] = []
        first, count = self._first, len(self.addresses)
        for round in range(ROUNDS):
            for i in range(count):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(failed)
                at, to = (first + i) % count, self.addresses[(first + i) % count]
                again = repeat
                try:
                    answer = self._pool.ask(to, method, path, text, headers, time.monotonic() + left / (count - i), most, repeat)
                    again = repeat or answer[0] == 503
                    got = _read(to, answer, read)
                    self._first = at
                    return got
                except NotSent as e:
                    failed.append(Attempt(to.text, str(e)))
                    continue
                except (Broken, ValueError, RecursionError) as e:
                    failed.append(Attempt(to.text, str(e)))
                    if not again:
                        raise Unavailable(failed) from None
            pause = random.uniform(*_PAUSE) * 2**round
            if round + 1 == ROUNDS or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        raise Unavailable(failed)


def _read(to: Address, answer: Tuple[int, str, bytes], read: Callable[[Any], T]) -> T:
    """What the answer says. Raises JetonError where it is a refusal, and Broken or ValueError where it is none of jeton's."""
    status, media, text = answer
    if status == 200 or (status == 429 and media == "application/json"):
        try:
            return read(_parsed(text))
        except (ValueError, RecursionError) as e:
            raise Broken(f"answered {status}, and not as jeton's API does: {PORTS}") from e
    problem: JSON = {}
    if media == "application/problem+json":
        try:
            problem = _object(_parsed(text))
        except (ValueError, RecursionError):
            pass  # the status says enough
    detail, type, title, field = (problem[n] if isinstance(problem.get(n), str) else None for n in ("detail", "type", "title", "field"))
    detail = detail and detail.replace('send "look":true', "ask with look()")
    # Whatever a server refuses is refused here too: on_unavailable is not to let pass what it does not even read.
    said = f"answered {status}, and not as jeton's API does: {PORTS}" + ("; redirects are not followed" if 300 <= status < 400 else "")
    if (400 <= status < 500 and status != 429) or (status == 500 and type):
        raise JetonError(detail or f"{to.text} {said}", type=type or "about:blank", title=title or "", status=status, field=field, address=to.text)
    if status in (502, 503, 504):
        said = f"answered {status}" + (f": {detail}" if detail else "")
    raise Broken(said)


def _parsed(text: bytes) -> Any:
    return json.loads(text, parse_int=_int, parse_constant=_no_constant)


def _int(text: str) -> int:
    if len(text) > 20:
        raise ValueError("its answer is not jeton's: a number has too many digits")
    return int(text)


def _no_constant(name: str) -> None:
    raise ValueError(f"its answer is not jeton's: {name} is no number")


def _object(of: Any) -> JSON:
    if not isinstance(of, dict):
        raise ValueError("its answer is not jeton's: it is no object")
    return of


def _check(
    key: str,
    limits: Limits,
    cost: Optional[int] = None,
    plan: Optional[str] = None,
    wait: Optional[float] = None,
    receipt: bool = False,
    for_: Optional[float] = None,
    least: Optional[int] = None,
) -> JSON:
    """A check as the API takes it."""
    body: JSON = {"key": key, "limits": [limits] if isinstance(limits, (str, dict)) else list(limits)}
    for name, value in (("cost", cost), ("plan", plan), ("least", least)):
        if value is not None:
            body[name] = value
    if receipt:
        body["receipt"] = True
    if wait is not None:
        body["wait_ms"] = math.ceil(seconds("wait", wait) * 1000)
    if for_ is not None:
        body["for"] = _duration("for_", for_)
    return body


def seconds(name: str, value: float) -> float:
    """The value, if it is a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is not a number of seconds")
    return value


def _duration(name: str, value: float) -> str:
    """Seconds as the API takes them, in milliseconds rounded up."""
    return f"{math.ceil(seconds(name, value) * 1000)}ms"


def bare(token: str) -> str:
    """The token without what surrounds it, such as the end of a file's last line."""
    token = token.strip() if isinstance(token, str) else ""
    if not token or not all("!" <= c <= "~" for c in token):
        raise ValueError("token: it is empty, or has characters that no header can have")
    return token


def policy(name: str) -> str:
    """The name, if it is one of the policies."""
    if name not in POLICIES:
        raise ValueError(f"on_unavailable: {name!r} is not one of {', '.join(POLICIES)}")
    return name


def hold_id(hold: Any) -> str:
    """The text of a hold, which may be that text."""
    id = getattr(hold, "id", hold)
    if not isinstance(id, str):
        raise ValueError(f"hold: {hold!r} is neither a Hold nor its text")
    return id
