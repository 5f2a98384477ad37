"""All reports of a plan: one file for one message, a folder with a file for each of several."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from incrowd.catalog.sentences import system_words
from incrowd.errors import ReportsError, UsageError
from incrowd.files import is_stream, replaced
from incrowd.plans.strata import StratumNames
from incrowd.reports.collection import Collection, load_collection, parts, write_reports

# Reports that wait on disk, in unnamed files that disappear with the process.


IN_MEMORY = 1 << 16  # bytes of a bucket before it has a file: small collections need none


class Bucket:
    """Packed reports, in a temporary file if they are many; `len` counts them.

    The file has no name, so that no other process can open it, and it disappears however the
    process ends. On systems without unnamed files it has a name and mode 0600 until it is closed.
    """

    def __init__(self, folder: Path, width: int) -> None:
        """Create an empty bucket for reports of `width` bytes, on the disk of the folder."""
        self.width = width
        self._reports = 0
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(folder))  # noqa: SIM115 (closed by `close`)

    def __len__(self) -> int:
        return self._reports

    def add(self, packed: np.ndarray) -> None:
        """Add reports: uint8, shape (reports, width)."""
        self._file.write(np.ascontiguousarray(packed).data)
        self._reports += len(packed)

    def view(self) -> np.ndarray:
        """Return all reports, memory-mapped for reading: uint8, shape (reports, width)."""
        if not self._reports:
            return np.empty((0, self.width), np.uint8)
        self._file.flush()
        return np.memmap(self._file, np.uint8, "r", shape=(self._reports, self.width))

    def take(self, most: int) -> Iterator[np.ndarray]:
        """Yield all reports, at most `most` at a time: uint8, shape (reports, width); then
        close."""
        self._file.seek(0)
        for start in range(0, self._reports, most):
            packed = np.empty((min(most, self._reports - start), self.width), np.uint8)
            self._file.readinto(packed.data)
            yield packed
        self.close()

    def close(self) -> None:
        """Remove the file. May be called again."""
        self._file.close()


MERGED = "merged"  # strata that were released as one
MOST_LETTERS = 40  # of a stratum in the name of a file
ENDING = ".parquet"


def save_reports(reports: Sequence[Collection], path: str | Path) -> tuple[Path, ...]:
    """Write reports to a folder, as message-1.parquet and so on, or one collection to a file.

    Parameters
    ----------
    reports : sequence of Collection
        The reports of one plan.
    path : str or Path
        The folder, or a file with an ending for one collection. Files of strata are named by
        stratum: stratum-1-law.parquet.

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    UsageError
        If there are no reports, they cannot be written, or the folder already contains reports:
        those of two plans could not be distinguished.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> [path.name for path in incrowd.save_reports(reports, "reports")][:2]
    ['message-1.parquet', 'message-2.parquet']
    """
    if not reports:
        raise UsageError.of("reports", "reports.no-collection")
    with new_files(path, [collection.strata for collection in reports]) as files:
        for collection, temporary in zip(reports, files.values(), strict=True):
            write_reports(collection, [collection.packed], temporary)
    return tuple(files)


@contextmanager
def new_files(path: str | Path, strata: Sequence[StratumNames]) -> Iterator[dict[Path, Path]]:
    """Yield the files for a plan's reports, each with the temporary path to write it to.

    strata: the strata of each collection; () if no question is open. If the block succeeds all
    files appear, otherwise none. Raises UsageError as `save_reports`.
    """
    folder, files = Path(path), [Path(path)]
    new_folders: list[Path] = []
    try:
        if list(strata) != [()] or folder.is_dir() or not (folder.suffix or is_stream(folder)):
            new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
            _make(path)
            files = [folder / f"{name}{ENDING}" for name in _names(strata)]
        with ExitStack() as stack:
            yield {file: stack.enter_context(replaced(file)) for file in files}
    except BaseException:
        for place in new_folders:
            with suppress(OSError):  # it was not created yet, or others use it by now
                place.rmdir()
        raise


def _names(strata: Sequence[StratumNames]) -> Iterator[str]:
    """Yield the names of the files. Of the names of strata, letters and digits are kept."""
    crowds, messages = list(dict.fromkeys(strata)), Counter(strata)
    places, seen = len(str(len(crowds))), Counter[StratumNames]()
    for names in strata:
        seen[names] += 1
        message = f"message-{seen[names]}"
        if not names:
            yield message
            continue
        word = (
            re.sub(r"\W+", "-", names[0]).strip("-")[:MOST_LETTERS] if len(names) == 1 else MERGED
        )
        number = f"{crowds.index(names) + 1:0{places}}"
        yield "-".join(filter(None, ("stratum", number, word, message * (messages[names] > 1))))


def _make(path: str | Path) -> None:
    """Create a folder if it is missing. Raises UsageError if it contains reports."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError.of(
            "path", "reports.folder-not-writable", value=str(path), reason=system_words(error)
        ) from None
    if any(Path(path).glob(f"*{ENDING}")):
        raise UsageError.of("path", "reports.folder-in-use", value=str(path))


def load_reports(path: str | Path) -> tuple[Collection, ...]:
    """Read all reports of a plan into memory.

    Parameters
    ----------
    path : str or Path
        A file or a folder that `save_reports` or a collector wrote.

    Returns
    -------
    tuple of Collection
        The reports.

    Raises
    ------
    ReportsError
        If they cannot be read.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> files = incrowd.save_reports(reports, "reports")
    >>> len(incrowd.load_reports("reports")) == len(files)
    True
    """
    return tuple(map(load_collection, report_files(path)))


def stream_reports(path: str | Path, *, check: bool = False) -> Iterator[Collection]:
    """Read all reports of a plan part by part, so that they need not fit into memory.

    Parameters
    ----------
    path : str or Path
        As for `load_reports`.
    check : bool
        Whether to compare the reports with their hash.

    Returns
    -------
    iterator of Collection
        The parts.

    Raises
    ------
    ReportsError
        If the reports cannot be read.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> files = incrowd.save_reports(reports, "reports")
    >>> tally = incrowd.count(plan, incrowd.stream_reports("reports"))
    """
    for file in report_files(path):
        yield from parts(file, check)


def report_files(path: str | Path) -> list[Path]:
    """Return the files of a plan's reports: in a folder, or in the folders of releases in it.

    Raises ReportsError if a folder contains none.
    """
    if not Path(path).is_dir():
        return [Path(path)]
    files = sorted(Path(path).glob(f"*{ENDING}")) or sorted(Path(path).glob(f"*/*{ENDING}"))
    if not files:
        raise ReportsError.of("reports", "reports.empty-folder", value=str(path), ending=ENDING)
    return files
