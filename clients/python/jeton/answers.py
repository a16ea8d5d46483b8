"""What a cluster answers, as docs/api.md has it. Durations are seconds."""

import dataclasses
import math
from typing import Any, Dict, List, Optional, Tuple, TypeVar

T = TypeVar("T")
JSON = Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one limit of a check says."""

    name: str
    allowed: bool
    limit: int  # its capacity
    remaining: int  # tokens that are left
    retry_after: float = 0.0  # until the same check passes; 0 if it did
    reset_after: float = 0.0  # until the bucket is full
    never: bool = False  # the cost can never pass, or the permit has ended
    closed: bool = False  # by a penalty
    ended: bool = False  # the permit that was to be extended
    leased: int = 0  # tokens that gateways and clients hold
    plan: str = ""  # that decided in place of the limit's own numbers
    override: str = ""  # likewise


class Said:
    """What the answers to checks have in common."""

    allowed: bool
    decided_by: str

    def __bool__(self) -> bool:
        # True for all would let denials pass. True where it is allowed would make a habit of it, and a coroutine that is not awaited is true.
        raise TypeError(f'a {type(self).__name__} is neither true nor false: write "if decision.allowed"')

    @property
    def failed_open(self) -> bool:
        """Whether there was no decision, and on_unavailable is "allow"."""
        return self.decided_by == "allow"

    @property
    def outcomes(self) -> List[Outcome]:
        raise NotImplementedError

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds until the same call passes: 0 if it was allowed, None if it never will."""
        if self.allowed:
            return 0.0
        if any(o.never for o in self.outcomes):
            return None
        return 1.0 if self.decided_by == "deny" else max((o.retry_after for o in self.outcomes), default=0.0)


@dataclasses.dataclass(frozen=True)
class Decided(Said):
    """A Decision without its hold."""

    allowed: bool
    limits: List[Outcome] = dataclasses.field(default_factory=list)
    wait: float = 0.0  # seconds to wait before going on, of an allowed check that may wait
    receipts: List[JSON] = dataclasses.field(default_factory=list)  # to give back, or to extend: keep them as they are
    granted: int = 0  # tokens that were held, of each limit
    decided_by: str = "cluster"  # or "allow" or "deny": on_unavailable, since there was no decision

    @property
    def outcomes(self) -> List[Outcome]:
        return self.limits

    @property
    def nearest(self) -> Optional[Outcome]:
        """The outcome that is nearest to exhaustion: one that denies before one that admits."""

        def order(o: Outcome) -> Tuple[bool, bool, int, int]:
            waits = not o.allowed and not o.never
            return o.allowed, not o.never, -max(math.ceil(o.retry_after), 1) if waits else 0, o.remaining

        return min(self.limits, key=order) if self.limits else None

    @property
    def limit(self) -> Optional[int]:
        """The capacity of the nearest limit."""
        return self.nearest.limit if self.nearest else None

    @property
    def remaining(self) -> Optional[int]:
        """The tokens that are left of it."""
        return self.nearest.remaining if self.nearest else None

    @property
    def reset_after(self) -> Optional[float]:
        """Seconds until it is full."""
        return self.nearest.reset_after if self.nearest else None


@dataclasses.dataclass(frozen=True)
class Denial:
    """The limit that denied check_all: of the check of that index, with that key."""

    check: int
    key: str
    limit: str


@dataclasses.dataclass(frozen=True)
class SettledLimit:
    """What a settlement came to for one limit. The state is settled, open, expired, lost or unknown."""

    name: str
    state: str
    charged: int = 0
    returned: int = 0
    debt: int = 0
    until_ns: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Settled:
    """What a settlement came to: the numbers of the limit that charged most, and each."""

    charged: int
    returned: int
    debt: int
    until_ns: Optional[str] = None  # when the hold expires, since the Unix epoch; None once it is settled for good
    limits: List[SettledLimit] = dataclasses.field(default_factory=list)


def take(of: Any, name: str, default: T) -> T:
    """The field of a JSON object, of the type of its default. An answer without it is older, or leaves out what is empty."""
    value = of.get(name, default) if isinstance(of, dict) else None
    if type(value) is not type(default):
        raise ValueError(f"its answer is not jeton's: {name} is not of the type {type(default).__name__}")
    return value  # type: ignore[no-any-return]


def items(of: Any, name: str) -> List[Any]:
    """The list that every such answer has."""
    found: List[Any] = must(of, name, [])
    return found


def must(of: Any, name: str, default: T) -> T:
    """Likewise, of a field that every such answer has."""
    if isinstance(of, dict) and name not in of:
        raise ValueError(f"its answer is not jeton's: there is no {name}")
    return take(of, name, default)


def outcome(of: Any) -> Outcome:
    """Reads an Outcome."""
    return Outcome(
        must(of, "name", ""), must(of, "allowed", False), take(of, "limit", 0), take(of, "remaining", 0),
        take(of, "retry_after_ms", 0) / 1000, take(of, "reset_after_ms", 0) / 1000,
        take(of, "never", False), take(of, "closed", False), take(of, "ended", False),
        take(of, "leased", 0), take(of, "plan", ""), take(of, "override", ""),
    )


def decided(of: Any) -> JSON:
    """The fields of a Decided."""
    return {
        "allowed": must(of, "allowed", False), "limits": [outcome(o) for o in items(of, "limits")],
        "wait": take(of, "wait_ms", 0) / 1000, "receipts": take(of, "receipts", []), "granted": take(of, "granted", 0),
    }


def denial(of: Any) -> Denial:
    """Reads a Denial."""
    return Denial(must(of, "check", 0), must(of, "key", ""), must(of, "limit", ""))


def settled(of: Any) -> Settled:
    """Reads a Settled."""
    limits = [
        SettledLimit(
            must(o, "name", ""), must(o, "state", ""),
            take(o, "charged", 0), take(o, "returned", 0), take(o, "debt", 0), take(o, "until_ns", "") or None,
        )
        for o in items(of, "limits")
    ]
    return Settled(must(of, "charged", 0), must(of, "returned", 0), take(of, "debt", 0), take(of, "until_ns", "") or None, limits)
