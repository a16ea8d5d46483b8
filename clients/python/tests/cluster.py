"""A real cluster for the tests: jeton dev, in a folder and on ports of its own."""

import atexit
import functools
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest
from typing import Callable, List, Optional

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))

LIMITS = """
limits:
  once: {capacity: 300, refill: 1/1000h, reserve: exact}
  login: {capacity: 10, refill: 1/s}
  strict: {capacity: 2, refill: 1/1h, reserve: exact}
  hourly: {algorithm: fixed-window, limit: 5, window: 1h}
  tokens: {capacity: 10000, refill: 10000/1m, hold: 10m}
  inside: {algorithm: concurrency, limit: 2, lease: 1m}
  planned: {capacity: 5, refill: 1/h, plans: {pro: {capacity: 50}, twice: {capacity: 5, refill: 2/h}}}
  demo: {capacity: 10, refill: 10/h}
  api: {capacity: 100, refill: 50/s}
  items: {capacity: 60, refill: 1/m}
  waiting: {capacity: 1, refill: 1/20s, wait: 30s}
"""


@functools.lru_cache(maxsize=None)
def binary() -> str:
    """The jeton command: JETON_BINARY, or built from the tree."""
    given = os.environ.get("JETON_BINARY")
    if given:
        return given
    folder = tempfile.TemporaryDirectory(prefix="jeton-binary-")
    atexit.register(folder.cleanup)
    path = os.path.join(folder.name, "jeton")
    subprocess.run(["go", "build", "-o", path, "./cmd/jeton"], cwd=ROOT, check=True)
    return path


class Cluster:
    """Nodes and a gateway. One node is exact however slow the machine is. Of three, a node that waits too long for the owner of a key asks another
    replica as well, and both charge the check."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.folder = tempfile.TemporaryDirectory(prefix="jeton-python-")
        file = os.path.join(self.folder.name, "limits.yaml")
        with open(file, "w") as f:
            f.write(LIMITS)
        self.changed = threading.Condition()
        atexit.register(self.stop)
        for _ in range(5):
            self._start(file)
            try:
                self.wait_for(lambda: "Ctrl-C" in self.said)
                break
            except AssertionError:
                if self.dev.poll() is not None:
                    self.reader.join()
                if "address already in use" not in self.said:  # else another process took a port that was free just before
                    raise
        else:
            raise AssertionError("no cluster starts:\n" + self.said)
        self.addresses: List[str] = re.findall(r"node-\d+ .*HTTP +(http://\S+)", self.said)
        assert len(self.addresses) == nodes, self.said

    def _start(self, limits: str) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("JETON_")}
        data = tempfile.mkdtemp(dir=self.folder.name)
        self.said = ""
        self.dev = subprocess.Popen(
            [binary(), "dev", "--port", "0", "--nodes", str(self.nodes), "--data", os.path.join(data, "data"), "--limits", limits],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
        )
        self.reader = threading.Thread(target=self._listen, daemon=True)  # one that is not would be waited for before atexit
        self.reader.start()

    def _listen(self) -> None:
        assert self.dev.stdout is not None
        for line in self.dev.stdout:
            with self.changed:
                self.said += line
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, true: Callable[[], object]) -> None:
        """Returns when what the cluster has said makes it true."""
        with self.changed:
            if not self.changed.wait_for(lambda: true() or self.dev.poll() is not None, 180) or not true():
                raise AssertionError("the cluster did not say what was waited for:\n" + self.said)

    def process(self, node: int) -> int:
        """The process of the node of that index."""
        return int(re.findall(rf"node-{node + 1} .*process (\d+)", self.said)[-1])

    def kill(self, node: int) -> Callable[[], None]:
        """kill -9 of a node, which jeton dev starts again. What is returned waits until it serves."""
        again = f"node-{node + 1} serves again"
        before = self.said.count(again)
        os.kill(self.process(node), signal.SIGKILL)
        return lambda: self.wait_for(lambda: self.said.count(again) > before)

    def freeze(self, node: int) -> Callable[[], None]:
        """Stops a node, whose connections stay open. What is returned lets it go on."""
        pid = self.process(node)
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        if self.dev.poll() is None:
            self.dev.send_signal(signal.SIGTERM)
            self.dev.wait(180)
        self.reader.join()
        assert self.dev.stdout is not None
        self.dev.stdout.close()
        self.folder.cleanup()


@functools.lru_cache(maxsize=None)
def shared() -> Cluster:
    """The cluster of the tests that harm no node, and count exactly: one node."""
    return Cluster(1)


def spent_once(test: unittest.TestCase, allowed: int, remaining: Optional[float]) -> None:
    """Holds what was allowed of a bucket of the limit once, by three nodes, against what it had. Never one is too many. Where nodes are slow, some
    are too few: each check that another replica was asked about, too, is charged twice."""
    test.assertLessEqual(allowed, 300)
    test.assertGreater(allowed, 200, "checks are charged twice, and not because of a slow node here and there")
    test.assertEqual(remaining, 0, "there was more")
