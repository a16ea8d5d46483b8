"""What a client does, unless told otherwise, where on_unavailable decides in place of the cluster."""

import logging
import threading
import time
from typing import Callable

from .errors import Unavailable

OnFailure = Callable[[Unavailable], object]  # called with the error each time that on_unavailable decides; what it raises, the call raises

_EVERY = 60.0  # seconds from one warning to the next


def warning() -> OnFailure:
    """Warns in the log "jeton", once a minute at most: a client that lets everything pass is to be noticed."""
    lock, due = threading.Lock(), 0.0

    def warn(e: Unavailable) -> None:
        nonlocal due
        with lock:
            now = time.monotonic()
            if now < due:
                return
            due = now + _EVERY
        logging.getLogger("jeton").warning("on_unavailable decides in place of the cluster: %s", e)

    return warn
