"""What a caller gets where there is no decision. A denial is none of these: it is a Decision."""

from typing import Any, NamedTuple, Optional, Sequence


PORTS = "name the HTTP port of a node, 7702 unless said, or the admin port of a gateway, 7781 unless said"


class JetonError(Exception):
    """A problem document (RFC 9457) with which a node refused the call: the same call is refused again."""

    def __init__(
        self, detail: str, *, type: str = "", title: str = "", status: int = 0, field: Optional[str] = None, address: str = ""
    ) -> None:
        super().__init__(detail)
        self.type = type  # for programs, such as urn:jeton:problem:unknown-limit
        self.title = title  # for people, the same for all of the type
        self.status = status  # of HTTP
        self.detail = detail
        self.field = field  # of the call that is wrong; None for none
        self.address = address  # that answered


class Attempt(NamedTuple):
    """One try at one address, and why it brought no decision."""

    address: str
    reason: str


class Unavailable(JetonError):
    """No answer could be had in time, at any address. The cost may have been charged all the same."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        last = {a.address: a.reason for a in attempts}
        said = "; ".join(f"{address}: {reason}" for address, reason in last.items())
        super().__init__(
            "no usable answer: " + (said or "the time was over before an address could be asked"),
            type="urn:jeton:problem:unavailable", title="No decision could be made", status=503,
        )
        self.attempts = list(attempts)

    def __reduce__(self) -> Any:
        return Unavailable, (self.attempts,)  # so that it can be pickled
