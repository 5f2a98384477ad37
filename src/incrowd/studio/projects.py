"""Projects: each is a folder with a survey and everything that was made from it.

The files are those that the commands read and write. Every version of the survey is kept in
`.studio/versions`, so that any change can be undone, and nothing is lost if the file is edited
elsewhere in the meantime.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from incrowd.collection.folders import BUNDLE
from incrowd.errors import Problem, SurveyError, UsageError, unreadable
from incrowd.files import (
    BEGUN,
    PRIVATE_FOLDER,
    mode_of,
    new_file,
    private_folder,
    settle,
    write_bytes,
)
from incrowd.interviews.survey import InterviewSurvey
from incrowd.reports.locking import locked
from incrowd.studio.document import Mark, Operation, SurveyDocument, apply, in_toml, version
from incrowd.survey import Survey
from incrowd.survey.surveys import INTERVIEWS as DEVICE
from incrowd.survey.surveys import survey_in
from incrowd.survey.toml import MOST_BYTES

SURVEY = "survey.toml"
PLAN = "plan.json"
INTERVIEWS = "interviews.parquet"  # answers of interviews, as `incrowd read` writes them
TYPED = "answers"  # with which the name of the file begins that they are read from
STUDIO = ".studio"
ARCHIVED = "archived"  # in the hidden folder
FORMER = f"{STUDIO}/former"  # the name of the project that this one is a new version of
ABANDONED = 3600.0  # seconds since it was changed, for what is written in less
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class ConflictError(UsageError):
    """The survey was changed in another window, or by another program, since the page was shown.

    version: the current one, whose changes the message names.
    """

    version = ""


class Changed(NamedTuple):
    """A survey before and after a change."""

    before: SurveyDocument
    after: SurveyDocument


@dataclass(frozen=True)
class Project:
    """The folder of one survey."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name

    @property
    def title(self) -> str:
        """The name of the survey; that of the folder if the file does not state one."""
        with suppress(SurveyError, UsageError):
            name = self.document().content.get("name")
            return name if isinstance(name, str) and name.strip() else self.name
        return self.name

    @property
    def survey_path(self) -> Path:
        """The survey file."""
        return self.path / SURVEY

    @property
    def plan_path(self) -> Path:
        """The plan, once the survey was certified."""
        return self.path / PLAN

    @property
    def has_interviews(self) -> bool:
        """Whether a device in the person's hand randomizes the answers. If the file is not TOML at
        the moment, the newest version that is decides."""
        with suppress(UsageError):
            text = self.text()
            for each in chain((SurveyDocument(text),), self.history()) if DEVICE in text else ():
                with suppress(SurveyError):
                    return DEVICE in each.content
        return False

    @property
    def hidden(self) -> Path:
        """The folder of what only the studio reads."""
        return self.path / STUDIO

    @property
    def is_archived(self) -> bool:
        """Whether the survey was put out of the list."""
        return (self.hidden / ARCHIVED).exists()

    def archive(self, archived: bool) -> None:
        """Put the survey out of the list, or back into it. No other file changes."""
        private_folder(self.hidden)
        if archived:
            write_bytes(self.hidden / ARCHIVED, b"")
        else:
            (self.hidden / ARCHIVED).unlink(missing_ok=True)

    @property
    def is_published(self) -> bool:
        """Whether a service has its bundle, so that people may be answering the survey."""
        return any(self.path.glob(f"*/{BUNDLE}"))

    @property
    def former(self) -> str:
        """The name of the project that this one is a new version of; "" if it is of none."""
        with suppress(OSError, UnicodeDecodeError):
            name = (self.path / FORMER).read_text(encoding="utf-8").strip()
            return name if _NAME.fullmatch(name) else ""
        return ""

    def survey(self) -> Survey:
        """Return the survey. Raises SurveyError with every mistake."""
        return Survey.load(self.survey_path)

    def interviews(self) -> InterviewSurvey:
        """Return the survey of interviews. Raises SurveyError with every mistake."""
        return InterviewSurvey.load(self.survey_path)

    @property
    def typed_answers(self) -> Path | None:
        """The file of answers that was added last."""
        files = (each for each in self.path.glob(f"{TYPED}*.*") if each.is_file())
        return max(files, key=lambda each: each.stat().st_mtime, default=None)

    @property
    def has_answers(self) -> bool:
        """Whether answers of interviews are here."""
        return self.typed_answers is not None or (self.path / INTERVIEWS).exists()

    def text(self) -> str:
        """Return the text of the survey file. Raises UsageError if it cannot be read."""
        path = str(self.survey_path)
        try:
            with self.survey_path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                most = MOST_BYTES >> 20
                raise UsageError.of("survey", "studio.survey-too-long", path=path, mebibytes=most)
            return content.decode("utf-8")  # with the ends of its lines
        except UnicodeDecodeError:
            raise UsageError.of("survey", "studio.survey-not-utf-8", path=path) from None
        except OSError as error:
            reason, code = unreadable(error), "studio.survey-unreadable"
            raise UsageError.of("survey", code, path=path, reason=reason) from None

    def document(self) -> SurveyDocument:
        """Return the survey file as a document. Raises UsageError if it cannot be read."""
        return SurveyDocument(self.text())

    def save(self, text: str, *, expected: str) -> None:
        """Write a new version of the survey.

        expected: the version of the document that was changed. Raises ConflictError if the file has
        another one by now; UsageError if the survey is published; OSError if the disk is full, and
        then the survey has not changed.
        """
        with self._editing():
            self._current_document(expected)
            self._save(text)

    def change(self, *operations: Operation, expected: str, marks: Sequence[Mark] = ()) -> Changed:
        """Apply operations to the survey, and remove comments that they make unnecessary.

        expected: the version of the document that the operations are made for. Raises ConflictError
        with everything that was changed elsewhere if the file has another one by now; SurveyError
        or UsageError if an operation cannot be applied, or the survey is published.
        """
        with self._editing():
            before = self._current_document(expected)
            after = apply(before, *operations).without_comments(marks)
            self._save(after.text)
            return Changed(before, after)

    def _current_document(self, expected: str) -> SurveyDocument:
        """Return the survey. Raises ConflictError if it is not the expected version."""
        now = SurveyDocument(self._text_or_empty())
        if now.version != expected:
            conflict = ConflictError(*self._differences(expected, now))
            conflict.version = now.version
            raise conflict
        return now

    def _differences(self, expected: str, now: SurveyDocument) -> list[Problem]:
        """Return what was changed since a version, as problems; one in general if that is not
        known."""
        before = self.seen(expected)
        with suppress(SurveyError):
            if before and (differences := before.differences(now)):
                return [
                    Problem(path, "studio.changed-elsewhere", was=in_toml(was), now=in_toml(new))
                    for path, was, new in differences
                ]
        return [Problem("survey", "studio.changed", path=str(self.survey_path))]

    def seen(self, seen: str) -> SurveyDocument | None:
        """Return the document with a version, the newest first; None if it is no longer there."""
        return next((each for each in self.history() if each.version == seen), None)

    def history(self) -> Iterator[SurveyDocument]:
        """Yield all versions of the survey, the newest first, including those that were undone."""
        for path in self.version_files():
            yield SurveyDocument(path.read_bytes().decode("utf-8"))

    def version_files(self) -> list[Path]:
        """Return the files of all versions of the survey, the newest first."""
        return sorted((self.hidden / "versions").glob("*.toml"), reverse=True)

    def _save(self, text: str) -> None:
        now = self._text_or_empty()
        number = self._current(now)
        if text != now:
            self._append(number, text)
            self._write(text)

    def undo(self, expected: str | None = None) -> bool:
        """Go back to the previous version; return whether there is one.

        expected: the version to undo, if it should be checked. Raises ConflictError for another,
        UsageError if the survey is published.
        """
        return self._move(-1, expected)

    def redo(self, expected: str | None = None) -> bool:
        """Go forward to the version that was undone; return whether there is one."""
        return self._move(1, expected)

    def can_move(self) -> tuple[bool, bool]:
        """Return whether edits can be undone, and done again."""
        if self.is_published:
            return False, False
        with self._locked():
            number = self._current(self._text_or_empty())
            return self._version(number - 1).exists(), self._version(number + 1).exists()

    def current_version(self) -> str:
        """Return the version of the survey, which is kept from now on."""
        with self._locked():
            text = self._text_or_empty()
            self._current(text)
            return version(text)

    def restore(self, wanted: Survey) -> bool:
        """Write the newest version that is a certain survey; return whether there is one."""
        with self._locked():
            for each in self.history():
                with suppress(SurveyError):
                    if survey_in(each.content, self.path).as_planned == wanted.as_planned:
                        self._save(each.text)
                        return True
        return False

    def _move(self, step: int, expected: str | None) -> bool:
        with self._editing():
            if expected is not None:
                self._current_document(expected)
            number = self._current(self._text_or_empty()) + step
            if not self._version(number).exists():
                return False
            text = self._version(number).read_bytes().decode("utf-8")
            self._write_position(number)
            self._write(text)
            return True

    def _text_or_empty(self) -> str:
        return self.text() if self.survey_path.exists() else ""

    def _write(self, text: str) -> None:
        target = self.survey_path.resolve()  # if it is a link, the survey is elsewhere
        write_bytes(target, text.encode(), mode=mode_of(target))

    def _version(self, number: int) -> Path:
        return self.hidden / "versions" / f"{number:06}.toml"

    def _write_position(self, number: int) -> None:
        write_bytes(self.hidden / "position", str(number).encode())

    def _current(self, text: str) -> int:
        """Return the number of the version in the survey file.

        A text that is not the version that was saved last was written by another program, or just
        before the studio was killed; it becomes a version of its own.
        """
        number = self._position()
        for each in (number, number + 1, number - 1):
            if self._version(each).exists() and self._version(each).read_bytes() == text.encode():
                if each != number:
                    self._write_position(each)
                return each
        return self._append(number, text) if text else number

    def _position(self) -> int:
        """Return the number of the version that was saved last; -1 if there is none."""
        try:
            return int((self.hidden / "position").read_bytes())
        except (OSError, ValueError):  # not there, or damaged: the last version of all
            paths = (self.hidden / "versions").glob("*.toml")
            return max((int(each.stem) for each in paths if each.stem.isdecimal()), default=-1)

    def _append(self, number: int, text: str) -> int:
        """Write a new version after another; versions that were undone are deleted."""
        following = number + 1
        later = following
        while self._version(later).exists():
            later += 1
        with new_file(self.hidden / "versions") as new:
            new.file.write(text.encode())
            settle(new.file)  # if the disk is full, no version is lost
            for each in range(later - 1, following - 1, -1):  # from the last: no gap if killed
                self._version(each).unlink()
            new.publish(self._version(following))
        self._write_position(following)
        return following

    @contextmanager
    def _editing(self) -> Iterator[None]:
        """Let one process at a time change the survey. Raises UsageError if it is published."""
        with self._locked():
            if self.is_published:
                raise UsageError.of("survey", "studio.published")
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time change the project."""
        private_folder(self.hidden)
        private_folder(self.hidden / "versions")
        with locked(self.hidden / "project"):
            yield


@dataclass(frozen=True)
class Projects:
    """All projects of a folder."""

    folder: Path

    def names(self) -> tuple[str, ...]:
        """Return the names of all projects, in order."""
        return tuple(
            sorted(
                each.name
                for each in self.folder.iterdir()
                if (each / SURVEY).exists() and _NAME.fullmatch(each.name)
            )
        )

    def open(self, name: str) -> Project:
        """Return a project. Raises UsageError if there is none with this name."""
        path = self.folder / name
        if not _NAME.fullmatch(name) or not (path / SURVEY).exists():
            raise UsageError.of("project", "studio.no-project", name=name)
        return Project(path)

    def create(self, title: str, text: str, files: Mapping[str, Path] | None = None) -> Project:
        """Return a new project whose folder is named after a title, with the text of its survey.

        files: others that are moved into the project, by their names there. The project is created
        completely or not at all.
        """
        if not title.strip():
            raise UsageError.of("name", "studio.no-title")
        stem = folder_name(title)
        names = [stem, *(f"{stem}-{number}" for number in range(2, 10_000))]
        path = next(self.folder / name for name in names if not (self.folder / name).exists())
        with self.temporary() as temporary:
            Project(temporary).save(text, expected=version(""))
            for name, file in (files or {}).items():
                (temporary / name).parent.mkdir(parents=True, exist_ok=True)
                file.replace(temporary / name)
            temporary.rename(path)
        return Project(path)

    def remove(self, name: str) -> None:
        """Delete a project with all of its files. If this is interrupted, the project is gone, and
        `sweep` removes the rest. Raises UsageError if there is none with this name."""
        path = self.open(name).path
        if path.is_symlink():  # the folder is elsewhere, and stays there
            path.unlink()
            return
        rest = self.folder / f"{BEGUN}{secrets.token_hex(8)}"
        path.rename(rest)
        shutil.rmtree(rest)

    def sweep(self) -> None:
        """Remove old temporary files of processes that were killed."""
        folders = [self.folder]
        for name in self.names():
            project = self.open(name)
            folders += [project.path, project.hidden, project.hidden / "versions"]
        for path in (path for folder in folders for path in folder.glob(f"{BEGUN}*")):
            with suppress(OSError):  # another process may remove it, too
                if path.lstat().st_mtime < time.time() - ABANDONED:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        """Yield a private folder beside the projects, which is removed at the end of the block."""
        path = self.folder / f"{BEGUN}{secrets.token_hex(8)}"
        path.mkdir(mode=PRIVATE_FOLDER)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def folder_name(title: str) -> str:
    """Return the name of a folder for a title: lower-case letters, digits and hyphens."""
    ascii_text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:48].strip("-") or "survey"
