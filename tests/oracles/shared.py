"""Results that the workers of one run share: whoever needs one first computes it for all."""

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = "TESTS_SHARE"  # the variable that names the folder of this run


def share(config):
    """Create the folder of a run, which its workers inherit, and remove it at the end."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="tests-")
        os.environ[FOLDER] = folder.name
        config.add_cleanup(folder.cleanup)


def shared(key, compute):
    """Return what `compute` returns, which another worker may have computed.

    key: a text that determines the result.
    """
    if FOLDER not in os.environ:
        return compute()
    path = Path(os.environ[FOLDER]) / hashlib.sha256(key.encode()).hexdigest()
    with suppress(FileNotFoundError):
        return pickle.loads(path.read_bytes())
    result = compute()
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(pickle.dumps(result))
    except (pickle.PicklingError, AttributeError):  # of a class that a test defines
        return result
    with suppress(FileNotFoundError):  # the run is over
        part.rename(path)
    return result
