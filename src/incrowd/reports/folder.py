"""All reports of a plan: one file for one message, a folder with a file for each of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from incrowd.errors import ReportsError, UsageError
from incrowd.reports.collection import Collection, load_collection, parts, write_reports
from incrowd.reports.files import replaced

ENDING = ".parquet"


def save_reports(reports: Sequence[Collection], path: str | Path) -> tuple[Path, ...]:
    """Write one collection as a file, several into a folder: message-1.parquet and so on.

    Returns the files. Raises UsageError if they cannot be written, or if the folder holds
    reports already: collections of two plans in one folder could not be told apart.
    """
    with new_files(path, len(reports)) as files:
        for collection, temporary in zip(reports, files.values(), strict=True):
            write_reports(collection, [collection.packed], temporary)
    return tuple(files)


@contextmanager
def new_files(path: str | Path, messages: int) -> Iterator[dict[Path, Path]]:
    """The files for a plan's reports, each with the temporary path to write it to.

    All appear when the block succeeds, none if not. Raises UsageError as `save_reports`.
    """
    single = messages == 1 and not Path(path).is_dir()
    made = [] if single else _missing(Path(path))
    try:
        files = [Path(path)] if single else _message_files(new_folder(path), messages)
        with ExitStack() as stack:
            yield {file: stack.enter_context(replaced(file)) for file in files}
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it was not made yet, or others use it by now
                folder.rmdir()
        raise


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made, the innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def _message_files(folder: Path, messages: int) -> list[Path]:
    return [message_file(folder, number) for number in range(messages)]


def new_folder(path: str | Path) -> Path:
    """A folder that holds no reports yet, made if missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        allowed = f"it is no folder to write to: {error.strerror}; name another one"
        raise UsageError.of("path", str(path), allowed) from None
    if any(folder.glob(f"*{ENDING}")):
        raise UsageError.of("path", str(path), "it holds reports already; name another folder")
    return folder


def message_file(folder: Path, message: int) -> Path:
    """Where the collection of a message stands."""
    return folder / f"message-{message + 1}{ENDING}"


def load_reports(path: str | Path) -> tuple[Collection, ...]:
    """Read all reports of a plan into memory. Raises ReportsError if they cannot be read."""
    return tuple(map(load_collection, report_files(path)))


def stream_reports(path: str | Path, *, check: bool = False) -> Iterator[Collection]:
    """Read all reports of a plan part by part. Raises ReportsError if they cannot be read.

    check: also whether they are, byte for byte, the reports that were written.
    """
    for file in report_files(path):
        yield from parts(file, check)


def report_files(path: str | Path) -> list[Path]:
    """The files of a plan's reports. Raises ReportsError if a folder holds none."""
    if not Path(path).is_dir():
        return [Path(path)]
    files = sorted(Path(path).glob(f"*{ENDING}"))
    if not files:
        raise ReportsError.of(
            "reports", str(path), f"it holds no {ENDING} file; name what `incrowd randomize` wrote"
        )
    return files
