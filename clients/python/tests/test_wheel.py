"""The package as it is installed: a wheel, built and installed without a network, used from an empty environment."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

import cluster

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

USE = """
import sys, jeton
with jeton.Client(sys.argv[1:], timeout=30) as client:
    d = client.check("wheel", "login")
    print(d.decided_by, d.allowed, d.limit, jeton.__file__.startswith(sys.prefix))
"""


class Wheel(unittest.TestCase):
    def test_build_install_and_use(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "source")
            shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", ".mypy_cache"))
            subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--wheel", source], check=True, capture_output=True, cwd=folder)
            (wheel,) = os.listdir(os.path.join(source, "dist"))
            path = os.path.join(source, "dist", wheel)
            with zipfile.ZipFile(path) as z:
                names = set(z.namelist())
            self.assertLessEqual({"jeton/__init__.py", "jeton/py.typed", "jeton/client.py"}, names)
            self.assertFalse([n for n in names if not n.startswith("jeton")], "the wheel has more than the package")
            self.assertTrue([n for n in names if n.endswith("LICENSE")])
            venv.create(os.path.join(folder, "venv"), with_pip=True)
            python = os.path.join(folder, "venv", "bin", "python")
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", path], check=True, capture_output=True)
            env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            used = subprocess.run([python, "-c", USE, *cluster.shared().addresses], cwd=folder, env=env, capture_output=True, text=True, timeout=180)
            self.assertEqual((used.stdout, used.stderr), ("cluster True 10 True\n", ""))


if __name__ == "__main__":
    unittest.main()
