"""jeton: a distributed rate limiter whose limits hold. This is its client.

    client = jeton.Client(["http://a:7702", "http://b:7702"])
    decision = client.check("user:42", "login")
    if not decision.allowed:
        ...  # decision.retry_after says in how many seconds the same check passes
"""

from .answers import Denial, Outcome, Settled, SettledLimit
from .asynchronous import AsyncAllDecision, AsyncClient, AsyncDecision, AsyncHold
from .client import AllDecision, Client, Decision, Hold
from .errors import Attempt, JetonError, Unavailable
from .middleware import ASGIMiddleware, WSGIMiddleware

__all__ = [
    "ASGIMiddleware", "AllDecision", "AsyncAllDecision", "AsyncClient", "AsyncDecision", "AsyncHold", "Attempt",
    "Client", "Decision", "Denial", "Hold", "JetonError", "Outcome", "Settled", "SettledLimit", "Unavailable",
    "WSGIMiddleware",
]
