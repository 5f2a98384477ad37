"""People of a rehearsal whose devices run the client in TypeScript, in Node.

The client is the one that survey pages use; `page/node/crowd.js` sends with it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from incrowd.collection.device.crowd import AT_ONCE, CrowdUploads
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.upload import upload_length

OLDEST = 20  # version of Node
STOPPED = "the client in Node stopped"
_PAGE = files("incrowd.collection.page")
_MODULES = ("incrowd-sdk.js", "x-wing.js", "mixers.js")


def node() -> str | None:
    """Return the path of Node, or None if it is not installed, or is too old."""
    program = shutil.which("node")
    if program is None:
        return None
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.", shown.stdout)
    return program if version and int(version[1]) >= OLDEST else None


@contextmanager
def sending_in_node(
    program: str,
    bundle: Bundle,
    answers: Sequence[Mapping[str, Any]],
    codes: Sequence[bytes],
    strata: Sequence[int],
    progress: Callable[[int], None],
) -> Iterator[Callable[[], CrowdUploads]]:
    """Let people send; yield a function that waits for all of them and returns the results.

    program: Node. answers: the answers of each person, by question, as in a file of answers. codes,
    strata: the strata of each person. progress: called with 1 after each upload. Uploads without an
    outcome count as refused.
    """

    def client_answers(row: Mapping[str, Any]) -> dict[str, Any]:
        texts = ((each, row.get(each.id)) for each in bundle.plan.survey.questions)
        return {q.id: None if text is None else q.client_answer(str(text)) for q, text in texts}

    rows = zip(answers, codes, strata, strict=True)
    people = [
        {"answers": client_answers(row), "code": code.decode(), "stratum": bundle.strata[stratum]}
        for row, code, stratum in rows
    ]
    link = str(Link(bundle.link_address, bundle.digest))
    given = json.dumps({"link": link, "people": people, "atOnce": AT_ONCE})
    outcomes, begun, ended = Counter[str](), time.monotonic(), [0.0]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryDirectory(prefix="incrowd-node-") as folder,
        subprocess.Popen(
            [program, _written(Path(folder))],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):

        def read() -> None:
            assert process.stdout, "it is a pipe"
            for outcome in process.stdout:
                outcomes[outcome.strip()] += 1
                progress(1)
            ended[0] = time.monotonic()

        reading = threading.Thread(target=read, daemon=True)
        reading.start()

        def result() -> CrowdUploads:
            reading.join()
            stored = outcomes["stored"]
            refused = {kind: n for kind, n in outcomes.items() if kind != "stored"}
            if missing := len(people) - outcomes.total():
                refused[STOPPED] = missing
            return CrowdUploads(
                people=len(people),
                stored=stored,
                repeated=0,
                refused=refused,
                sealed_reports=stored * bundle.places,
                bytes=upload_length(bundle),
                seconds=ended[0] - begun,
            )

        assert process.stdin, "it is a pipe"
        try:
            with suppress(BrokenPipeError):  # if it has stopped
                process.stdin.write(f"{given}\n")
                process.stdin.flush()  # and not closed: its end ends the process
            yield result
        finally:
            process.kill()
            reading.join()
            with suppress(BrokenPipeError):
                process.stdin.close()


def _written(folder: Path) -> Path:
    """Write the client and the script into a folder where Node reads modules; return the script."""
    (folder / "package.json").write_text('{"type": "module"}')
    for name in _MODULES:
        (folder / name).write_bytes((_PAGE / "static" / name).read_bytes())
    script = folder / "crowd.js"
    script.write_bytes((_PAGE / "node" / "crowd.js").read_bytes())
    return script
