"""HTTP/1.1 with one deadline for a whole exchange, over connections that are kept.

The timeout of a socket is for each read: a server that sends a byte now and then would hold its caller for ever. So
http.client is given a _Timed in the place of its socket, whose every read and write gets what is left of the time.
"""

import collections
import http.client
import io
import os
import select
import socket
import ssl
import time
import urllib.parse
from typing import Any, Deque, Dict, Mapping, Optional, Tuple

from .errors import PORTS

_PIECE = 1 << 16  # bytes that are read at once
_KEPT = 64  # idle connections to an address
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")  # OpenSSL's reasons
_IDLE = 60.0  # seconds after which a connection is not used again; a node closes it after 120


class NotSent(Exception):
    """There is no connection, so the server has seen nothing of the request."""


class Broken(Exception):
    """The server did not answer, or its answer cannot be read. It may have done what it was asked."""


class Address:
    """Where a node or a gateway serves HTTP: http://a:7702, https://a:7702, with a path in front of /v1 if need be."""

    def __init__(self, text: object) -> None:
        wrong = ValueError(f"addresses: {text!r} is not a URL such as http://localhost:7702, without a query or a user")
        if not isinstance(text, str) or any(c <= " " or c >= "\x7f" or c == "\\" for c in text):
            raise wrong
        try:
            url = urllib.parse.urlsplit(text)
            port = url.port
        except ValueError:
            raise wrong from None
        if url.scheme not in ("http", "https") or not url.hostname or port == 0 or "?" in text or "#" in text or "@" in url.netloc:
            raise wrong
        self.text = text.rstrip("/")
        self.secure = url.scheme == "https"
        self.host, self.port = url.hostname, port or (443 if self.secure else 80)
        self.path = url.path.rstrip("/")


class _Timed:
    """A socket with a deadline."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock, self.deadline = sock, deadline
        self.read, self.closed = False, False  # an answer is being read; it is to be closed, after that

    def wait(self) -> socket.socket:
        self.sock.settimeout(_left(self.deadline))
        return self.sock

    def sendall(self, data: bytes) -> None:
        self.wait().sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        self.read = True
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        self.closed = True
        if not self.read:
            self.sock.close()


class _Reader(io.RawIOBase):
    """What http.client reads one answer from. The connection stays open when it is closed, unless that was to be closed already."""

    def __init__(self, timed: _Timed) -> None:
        self.timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self.timed.wait().recv_into(buffer)

    def close(self) -> None:
        super().close()
        self.timed.read = False
        if self.timed.closed:
            self.timed.sock.close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("no answer in time")
    return left


class _Connection(http.client.HTTPConnection):
    """A connection to an address, and since when it is idle."""

    sock: Any  # a _Timed; None while there is none
    auto_open = 0  # open alone connects, since it has a deadline
    idle_since = 0.0  # on the clock time.monotonic; 0 for one that is new

    def __init__(self, to: Address, context: Optional[ssl.SSLContext]) -> None:
        super().__init__(to.host, to.port)
        self.to, self.context = to, context

    def open(self, deadline: float) -> None:
        """Connects, to the first of the addresses of the host that takes it."""
        failed: Optional[OSError] = None
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        for i, (family, kind, proto, _, where) in enumerate(found):
            sock = socket.socket(family, kind, proto)
            try:
                sock.settimeout(_left(deadline) / (len(found) - i))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect(where)
                if self.context is not None:
                    sock.settimeout(_left(deadline))
                    sock = self.context.wrap_socket(sock, server_hostname=self.host)
                self.sock = _Timed(sock, deadline)
                return
            except OSError as e:
                sock.close()
                failed = failed or e
        raise failed or OSError("the name has no address")

    def usable(self) -> bool:
        """Whether the server has neither closed it nor said what nobody asked."""
        if time.monotonic() - self.idle_since > _IDLE:
            return False
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self.sock.sock, select.POLLIN)
            return not poll.poll(0)
        return not select.select([self.sock.sock], [], [], 0)[0]

    def answer(self, most: int) -> Tuple[int, str, bytes]:
        """The status, the media type and the body, which may have so many bytes."""
        with self.getresponse() as got:
            pieces, size = [], 0
            while size <= most:
                piece = got.read(min(_PIECE, most + 1 - size))
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
            if size > most:
                raise Broken(f"its answer has more than {most} bytes")
            if got.length:  # http.client takes an early end for the end, where it is told how much to read
                raise Broken("its answer breaks off")
            return got.status, got.headers.get_content_type(), b"".join(pieces)


class Pool:
    """The idle connections to all addresses. A forked process makes its own: two would read each other's answers."""

    def __init__(self, context: Optional[ssl.SSLContext]) -> None:
        self.context = context
        self._made_by = os.getpid()
        self._idle: Dict[str, Deque[_Connection]] = {}  # by address; what is done to it and its deques is atomic

    def _of(self, to: Address) -> Deque[_Connection]:
        if self._made_by != os.getpid():
            self.close()  # here alone: those of the parent stay open
            self._made_by, self._idle = os.getpid(), {}
        return self._idle.setdefault(to.text, collections.deque())

    def ask(
        self, to: Address, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str], deadline: float, most: int, repeat: bool
    ) -> Tuple[int, str, bytes]:
        """One exchange: the status, the media type and the body of the answer. Raises NotSent and Broken.

        Where it may be repeated, it is over another connection when one that was kept turns out to be closed."""
        connection = self._take(to, deadline)
        try:
            connection.sock.deadline = deadline
            connection.request(method, to.path + path, body, dict(headers))
            answer = connection.answer(most)
        except BaseException as e:
            connection.close()
            if repeat and isinstance(e, ConnectionError) and connection.idle_since:
                return self.ask(to, method, path, body, headers, deadline, most, repeat)
            if isinstance(e, (OSError, http.client.HTTPException)):
                raise Broken(_words(e)) from e
            raise
        if connection.sock is not None:  # else the server has asked to close it
            connection.idle_since, idle = time.monotonic(), self._of(to)
            if len(idle) < _KEPT:
                idle.append(connection)
            else:
                connection.close()
        return answer

    def _take(self, to: Address, deadline: float) -> _Connection:
        idle = self._of(to)
        while True:
            try:
                connection = idle.pop()
            except IndexError:
                break
            if connection.usable():
                return connection
            connection.close()
        connection = _Connection(to, self._trust() if to.secure else None)
        try:
            connection.open(deadline)
        except (OSError, UnicodeError) as e:  # UnicodeError: the name has a part that is too long
            words = _words(e)
            raise NotSent(words if PORTS in words else "cannot connect: " + words) from e
        return connection

    def _trust(self) -> ssl.SSLContext:
        if self.context is None:
            self.context = ssl.create_default_context()
        return self.context

    def close(self) -> None:
        for idle in list(self._idle.values()):
            while idle:
                try:
                    idle.pop().close()
                except IndexError:
                    break


def _words(e: Exception) -> str:
    if isinstance(e, socket.timeout):
        return "no answer in time"
    if isinstance(e, (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError)):
        return f"closed the connection without an answer; if it always does, {PORTS}"
    if isinstance(e, (http.client.BadStatusLine, http.client.UnknownProtocol)):
        return f"answered, and not in HTTP/1.1: {PORTS}"
    if isinstance(e, ssl.SSLError) and e.reason in _NOT_TLS:
        return f"answered, and not in TLS: write http:// for a port without it, and {PORTS}"
    return (e.strerror if isinstance(e, OSError) else None) or str(e) or type(e).__name__
