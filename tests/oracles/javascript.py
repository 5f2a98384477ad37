"""The modules of the client in TypeScript, as Node reads them, and scripts that run with them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.oracles.node import CLIENT, installed, node

SCRIPTS = Path(__file__).parents[1] / "clients"


def client_in(folder):
    """The client in a folder of the tests' own; skips the test if its packages are missing."""
    if not installed():
        pytest.skip(
            "the packages of clients/js are not installed: python -m tests.oracles.node install"
        )
    return Javascript(folder)


class Javascript:
    """changes: in a module, one text in the place of another: a client with a mistake."""

    def __init__(self, folder, changes=()):
        self.folder = folder
        sources = folder / "src"
        shutil.copytree(CLIENT / "src", sources)
        (folder / "node_modules").symlink_to(CLIENT / "node_modules")
        for module, old, new in changes:
            text = (sources / module).read_text()
            assert text.count(old) == 1, (module, old)
            (sources / module).write_text(text.replace(old, new))
        (program,), _ = node()
        shutil.copy(SCRIPTS / "bundle.mjs", folder)
        subprocess.run([program, "bundle.mjs"], check=True, cwd=folder)

    def __call__(self, script, given=None, timeout=120):
        """The bytes that the script writes. given: what it reads, as JSON."""
        (program,), _ = node()
        done = subprocess.run(
            [program, SCRIPTS / script, self.folder / "client.mjs"],
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout
