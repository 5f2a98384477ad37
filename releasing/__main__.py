"""Check everything that can be checked before an upload: `python -m releasing`.

It clones the last commit, and runs every step in the clone. Nothing is uploaded.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from releasing.commands import CheckError, run
from releasing.steps import STEPS, Checkout, Step

ROOT = Path(__file__).parents[1]


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def arguments(typed: Sequence[str]) -> argparse.Namespace:
    """Read what was typed."""
    parser = argparse.ArgumentParser("python -m releasing", description=__doc__)
    names = [step.name for step in STEPS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="STEP", help=", ".join(names))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder for all results")
    read = parser.parse_args(typed)
    if read.keep and read.keep.exists():
        parser.error(f"--keep {read.keep}: this already exists; name a new folder")
    return read


def chosen(steps: Sequence[Step], only: Collection[str] | None) -> list[Step]:
    """Return the steps with these names and those that they need, in their order."""
    if only is None:
        return list(steps)
    wanted = set(only)
    for step in reversed(steps):
        if step.name in wanted:
            wanted |= set(step.needs)
    return [step for step in steps if step.name in wanted]


def perform(steps: Sequence[Step], checkout: Checkout) -> dict[str, tuple[str, ...]]:
    """Run steps in their order, and return the problems of those that failed."""
    failed: dict[str, tuple[str, ...]] = {}
    for number, step in enumerate(steps, 1):
        checkout.say(f"== {number}/{len(steps)} {step.name}: {step.what}")
        begun = time.monotonic()
        missing = [name for name in step.needs if name in failed]
        try:
            if missing:
                raise CheckError(f"not checked, because `{missing[0]}` failed")
            step.check(checkout)
        except CheckError as error:
            failed[step.name] = error.problems
        word = "failed" if step.name in failed else "passed"
        checkout.say(f"   {word} in {time.monotonic() - begun:.0f} s")
    return failed


def cloned(folder: Path) -> Checkout:
    """Clone the last commit of this repository into a folder."""
    root = folder / "clone"
    say("== cloning the last commit")
    run("git", "clone", "--quiet", "--no-local", ROOT, root, folder=folder)
    if run("git", "status", "--porcelain", folder=ROOT).strip():
        say("== changes that are not committed are not part of this check")
    tags = run("git", "tag", "--points-at", "HEAD", "--list", "v*", folder=ROOT).split()
    return Checkout(root, folder, tags[0] if tags else None, say)


def main(typed: Sequence[str]) -> int:
    """Run the check, and return the exit code: 1 if a step failed."""
    read = arguments(typed)
    steps = chosen(STEPS, read.only)
    with tempfile.TemporaryDirectory(prefix="releasing-") as temporary:
        folder = read.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        failed = perform(steps, cloned(folder.resolve()))
    for name, problems in failed.items():
        say(f"\n{name} failed:")
        for problem in problems:
            say(f"  {problem}")
    say(f"\n== {len(steps) - len(failed)} of {len(steps)} steps passed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("\n== stopped; temporary files are deleted")
        sys.exit(130)
