"""What a client of a service learns of its limits: the fields and problem documents of docs/headers.md, as a gateway writes them."""

import dataclasses
import json
import math
import re
import threading
import time
from fractions import Fraction
from typing import Callable, Dict, List, Optional, Tuple, Union

from .answers import JSON, Decided, Outcome
from .errors import JetonError

Fields = List[Tuple[str, str]]

_AGAIN = 60.0  # seconds between two readings of the limits
_MOST = 999_999_999_999_999  # of an integer in such a field
_UNITS: Dict[str, Union[int, Fraction]] = {
    "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "µs": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": 1, "m": 60, "h": 3600,
}
_CALENDAR = {"day": 86400, "week": 7 * 86400, "month": 31 * 86400, "year": 366 * 86400}


@dataclasses.dataclass(frozen=True)
class Rule:
    """What the fields say of a limit beside its outcome, in seconds."""

    algorithm: str
    capacity: int
    fill: Fraction  # until an empty bucket is full
    token: Fraction  # until there is one more token, of a token bucket

    def window(self, o: Outcome) -> int:
        """The t of RateLimit: in which the remaining tokens come back, or, without any, the first one."""
        reset = Fraction(round(o.reset_after * 1000), 1000)
        if self.algorithm == "token-bucket":
            t = o.remaining * self.token if o.remaining > 0 else reset + self.token - self.fill
        else:
            t = reset or (Fraction(0) if self.algorithm == "concurrency" else self.fill)
        return max(math.ceil(t), 1)


def _seconds(text: str) -> Fraction:
    parts = re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", text)
    if "".join(n + unit for n, unit in parts) != text or not parts:
        raise ValueError(text)
    return sum((Fraction(n) * _UNITS[unit] for n, unit in parts), Fraction(0))


def rule_of(limit: JSON) -> Optional[Rule]:
    """The rule of a limit as the API shows it; None for one of an algorithm that is newer than this client."""
    algorithm = limit.get("algorithm", "token-bucket")
    try:
        if algorithm == "token-bucket":
            count, _, per = limit["refill"].partition("/")
            token = _seconds(per if per[:1].isdigit() else "1" + per) / int(count)
            return Rule(algorithm, limit["capacity"], limit["capacity"] * token, token)
        length = limit.get("window") or limit.get("lease")
        fill = _seconds(length) if length else Fraction(_CALENDAR[limit["per"]])
        return Rule(algorithm, limit["limit"], fill, Fraction(0))
    except (KeyError, ValueError, TypeError, AttributeError, ZeroDivisionError):
        return None


class Rules:
    """The rules of the limits in force, read in the background when they are needed, once a minute at most."""

    def __init__(self, limits: Callable[[], JSON]) -> None:
        self._limits = limits
        self._known: Dict[str, Rule] = {}
        self._next = 0.0

    def of(self, o: Outcome) -> Optional[Rule]:
        """The rule that decided, or None if that is not known."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _AGAIN
            threading.Thread(target=self._read, name="jeton-limits", daemon=True).start()
        rule = self._known.get(o.name)
        return rule if rule is not None and rule.capacity == o.limit and not o.plan and not o.override else None

    def _read(self) -> None:
        try:
            rules = {name: rule_of(limit) for name, limit in self._limits().items() if isinstance(limit, dict)}
        except JetonError:
            return  # those that are known stay, and the next reading may bring others
        self._known = {name: rule for name, rule in rules.items() if rule is not None}


def _string(text: str) -> str:
    """A string of a structured field (RFC 9651); what such a string cannot hold is percent-encoded."""
    out = ""
    for byte in text.encode(errors="surrogatepass"):
        c = chr(byte)
        out += "\\" + c if c in '"\\' else c if " " <= c <= "~" and c != "%" else f"%{byte:02X}"
    return f'"{out}"'


def _integer(n: int) -> int:
    return min(max(n, 0), _MOST)


def fields_of(decision: Decided, rules: Rules) -> Fields:
    """RateLimit and RateLimit-Policy, of a decision that the cluster has made."""
    nearest = decision.nearest
    if nearest is None:
        return []
    policies: Dict[str, str] = {}
    for o in decision.limits:
        rule = rules.of(o)
        policies.setdefault(o.name, f"{_string(o.name)};q={_integer(o.limit)}" + (f";w={max(math.ceil(rule.fill), 1)}" if rule else ""))
    rule = rules.of(nearest)
    item = f"{_string(nearest.name)};r={_integer(nearest.remaining)}" + (f";t={rule.window(nearest)}" if rule else "")
    return [("RateLimit", item), ("RateLimit-Policy", ", ".join(policies.values()))]


def refusal_of(decision: Decided, rules: Rules) -> Tuple[int, Fields, bytes]:
    """The status, the fields and the body of the answer to a request that is denied."""
    o, wait = decision.nearest, decision.retry_after
    after = None if wait is None else max(math.ceil(wait), 1)
    kind, status, title = "quota-exceeded", 429, "Request cannot be satisfied as assigned quota has been exceeded"
    if o is None:
        kind, status, title = "temporary-reduced-capacity", 503, "Request cannot be satisfied due to temporary server capacity constraints"
        detail = "rate limiter unavailable; retry later"
    elif after is None:
        detail = f"this request asks too much of the limit {o.name}: the cost is above the capacity and can never pass"
    elif o.closed:
        detail = f"too many requests: the limit {o.name} is closed after denials in a row; try again in {after}s"
    else:
        detail = f"too many requests: the limit {o.name} is exhausted; try again in {after}s"
    problem = {
        "type": "https://iana.org/assignments/http-problem-types#" + kind, "title": title, "status": status, "detail": detail,
        "violated-policies": list(dict.fromkeys(each.name for each in decision.limits if not each.allowed)),
    }
    body = json.dumps(problem, separators=(",", ":")).encode() + b"\n"
    fields = fields_of(decision, rules) + ([] if after is None else [("Retry-After", str(after))])
    fields += [
        ("Cache-Control", "no-store"), ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))), ("X-Content-Type-Options", "nosniff"),
    ]
    return status, fields, body
