"""Servers that are none of jeton's, or that fail."""

import contextlib
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Optional


class Fake:
    """A server that reads requests and answers each as its function says. It keeps their bodies."""

    def __init__(self, answer: Callable[["Fake", socket.socket], None], keep: bool = False, tls: Any = None) -> None:
        self.answer, self.keep, self.tls = answer, keep, tls
        self.bodies: List[Dict[str, Any]] = []
        self.heads: List[str] = []
        self.of_thread = threading.local()  # its request
        self.connections = 0
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http{}://127.0.0.1:{}".format("s" if tls else "", self.listener.getsockname()[1])
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(0.05)
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(connection)
            if self.tls:
                connection.settimeout(30)
                connection = stack.enter_context(self.tls.wrap_socket(connection, server_side=True))
                connection.settimeout(0.05)
            while self._request(connection):
                self.answer(self, connection)
                if not self.keep:
                    return

    def _request(self, connection: socket.socket) -> bool:
        """Reads a request, and says whether there was one."""
        got = b""
        while not self.over.is_set():
            try:
                piece = connection.recv(1 << 16)
            except socket.timeout:
                continue
            if not piece:
                return False
            got += piece
            head, end, body = got.partition(b"\r\n\r\n")
            length = [int(line[15:]) for line in head.decode("latin-1").split("\r\n") if line.lower().startswith("content-length:")]
            if end and len(body) >= (length or [0])[0]:
                self.heads.append(head.decode("latin-1"))
                self.of_thread.body = body
                self.bodies.append(json.loads(body) if body else {})
                return True
        return False

    def stop(self) -> None:
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def serving(answer: Callable[[Fake, socket.socket], None], keep: bool = False, tls: Any = None) -> Iterator[Fake]:
    fake = Fake(answer, keep, tls)
    try:
        yield fake
    finally:
        fake.stop()


def says(data: bytes) -> Callable[[Fake, socket.socket], None]:
    return lambda _, connection: connection.sendall(data)


def http(status: int, body: Any, media: str = "application/json", *more: str) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Said", f"Content-Type: {media}", f"Content-Length: {len(text)}", *more, "", ""]
    return "\r\n".join(head).encode() + text


def allowed(limit: str = "login") -> bytes:
    return http(200, {"allowed": True, "limits": [{"name": limit, "allowed": True, "limit": 10, "remaining": 9, "retry_after_ms": 0, "reset_after_ms": 1000}]})


def problem(status: int, name: str, detail: str = "it is so") -> bytes:
    return http(status, {"type": "urn:jeton:problem:" + name, "title": "A title", "status": status, "detail": detail}, "application/problem+json")


def dripping(data: bytes, each: float = 0.02) -> Callable[[Fake, socket.socket], None]:
    """Sends a byte after the other, and a pause before each."""

    def answer(fake: Fake, connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            if fake.over.wait(each):
                return

    return answer


def losing(url: str) -> Callable[[Fake, socket.socket], None]:
    """Has each check decided at a node, and says nothing of the answer."""

    def answer(fake: Fake, _: socket.socket) -> None:
        request = urllib.request.Request(url + "/v1/check", fake.of_thread.body)
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=30) as answered:
            answered.read()

    return answer


def silent(fake: Fake, _: socket.socket) -> None:
    fake.over.wait()


def endless(head: bytes, piece: bytes, most: Optional[float] = None) -> Callable[[Fake, socket.socket], None]:
    """Sends a head, and then a piece again and again."""

    def answer(fake: Fake, connection: socket.socket) -> None:
        connection.sendall(head)
        connection.settimeout(0.5)
        until = time.monotonic() + (most or 60)
        while not fake.over.is_set() and time.monotonic() < until:
            connection.sendall(piece)

    return answer
