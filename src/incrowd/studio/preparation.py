"""The files that the studio writes for a collection, with the functions of the commands."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from incrowd.collection.cards import card_of
from incrowd.collection.collector.keeper import keep_bundle
from incrowd.collection.collector.places import CollectorPlaces, new_key
from incrowd.collection.folders import BUNDLE
from incrowd.collection.hosting import GIVEN
from incrowd.collection.invitations import InvitationFiles, write_invitations
from incrowd.collection.inviter import setup as inviter_setup
from incrowd.collection.inviter.init import MixersTerms, make_mixers_bundle
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.machine import system
from incrowd.collection.mixer import setup as mixer_setup
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.second.keeper import keep_bundle as keep_second_bundle
from incrowd.collection.mixer.second.keeper import make_keys
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.page.files import asked_in, page_files, shipped, write_page
from incrowd.collection.protocol.bundle import MOST_BYTES as MOST_BUNDLE_BYTES
from incrowd.collection.settings import (
    FirstMixerSettings,
    InviterSettings,
    SecondMixerSettings,
    ShufflerSettings,
    StoreSettings,
    load_settings,
)
from incrowd.errors import UsageError
from incrowd.files import PRIVATE_FOLDER, destroy, write_bytes, write_text
from incrowd.planner.plan import plan
from incrowd.plans import Plan
from incrowd.plans.plan import check_promised
from incrowd.presentation.write import write_card
from incrowd.reports.locking import locked
from incrowd.studio.certifying import content
from incrowd.studio.evidence import (
    CARD,
    CODES,
    PAGE,
    bundle_of,
    bundle_path,
    check_bundle,
    key_of,
    package,
    package_copies,
    plan_file,
)
from incrowd.studio.packages import SHEET, package_files, package_names, page_sheet
from incrowd.studio.projects import Project
from incrowd.studio.publication import (
    FOLDERS,
    TERMS,
    Publication,
    load_publication,
    terms_text,
    unprotected,
)
from incrowd.studio.sources import keep_plan
from incrowd.verification import check_certificate


def certify(progress: Callable[[str], None], path: Path, ready: Plan | None = None) -> str:
    """Make and write the plan, as `incrowd plan survey.toml -o plan.json`; return its digest.

    The plan before is kept, for the reports that were made with it. Work of a job. path: the path
    of the project. ready: a plan that is not made again if it is of the same survey.
    """
    project = Project(path)
    if project.is_published and project.plan_path.exists():
        raise UsageError.of("survey", "studio.published")
    survey = project.survey()
    check_promised(survey.privacy.analysis, "privacy.analysis")
    same = ready is not None and content(ready.survey) == content(survey)
    certified = ready if ready and same else plan(survey, progress=progress)
    keep_plan(project)
    write_text(project.plan_path, certified.dumps())
    return certified.digest


def perform(project: Project, step: str, language: str) -> None:
    """Carry out a step of the checklist. language: the language of the pages for colleagues.

    One window at a time. Raises UsageError for an unknown step, and what the step's functions do.
    """
    if step not in ACTIONS:
        raise UsageError.of("step", "shared.use-one-of", value=step, choices=[*ACTIONS])
    with exclusively(project):
        publication, _ = load_publication(project)
        if step in BEFORE_BUNDLE:
            _check_first(project, publication)
        ACTIONS[step](project, publication, language)


def _check_first(project: Project, publication: Publication, data: bytes = b"") -> None:
    """Raise UsageError if another service in the project has another bundle than the data: the
    choices were edited since, and a second bundle would collect the same answers again."""
    others = (file.read_bytes() for file in project.path.glob(f"*/{BUNDLE}"))
    if bundle_of(project, publication) is None and any(each != data for each in others):
        raise UsageError.of("survey", "studio.published")


def exclusively(project: Project) -> Any:
    """Lock the files of a collection for one window at a time."""
    project.hidden.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    return locked(project.hidden / "publishing")


def checked_plan(project: Project, publication: Publication) -> Plan:
    """Return the plan, if it is that of the present survey and its certificate holds.

    Raises UsageError if it is missing, stale, or not a guarantee, or if the collection would leave
    people practically no protection, PlanError if the certificate fails.
    """
    present = plan_file(project, project.survey())
    if present.plan is None or present.state != "current":
        raise UsageError.of("plan", "studio.stale-plan")
    check_promised(present.plan.guarantee.analysis, "plan.guarantee.analysis")
    check_protected(publication, present.plan)
    check_certificate(present.plan, str(project.plan_path))
    return present.plan


def check_protected(publication: Publication, plan: Plan) -> None:
    """Raise UsageError if the collection would leave people practically no protection."""
    if problems := [*unprotected(publication, plan.survey, plan)]:
        raise UsageError(*problems)


def _collector_key(project: Project, publication: Publication, language: str) -> None:
    del publication, language
    places = CollectorPlaces(_folder(project, "collector", PRIVATE_FOLDER))
    if not places.public.exists():
        _begin_again(places.private)
        new_key(places)


def _first_key(project: Project, publication: Publication, language: str) -> None:
    del publication, language
    settings = load_settings(FirstMixerSettings, project.path / FOLDERS["first"])
    if not settings.public_file.exists():
        _begin_again(settings.signing_file)
        mixer_setup.make_keys(settings)


def _second_key(project: Project, publication: Publication, language: str) -> None:
    del publication, language
    settings = load_settings(SecondMixerSettings, project.path / FOLDERS["second"])
    if not settings.public_file.exists():
        _begin_again(*settings.private_files)
        make_keys(settings)


def _package(project: Project, publication: Publication, language: str) -> None:
    """Write the terms, and a package for each colleague; the own key first, which the terms
    state."""
    if "collector" in publication.mine:
        _collector_key(project, publication, language)
    survey, certified = project.survey(), checked_plan(project, publication)
    text = terms_text(publication, survey, key_of(project, publication))
    write_text(project.path / TERMS, text)
    if publication.mixers == 1 and key_of(project, publication).get("collector"):
        make_bundle(certified, ShufflerTerms.load(project.path / TERMS))  # would it be accepted?
    for service in publication.theirs:
        folder = package(project, service)
        texts = package_files(publication, survey, certified, service, language)
        for name, text in texts.items():
            _created((folder / name).parent)
            write_text(folder / name, text, mode=0o644)
        for copy in package_copies(project, publication, service):
            write_bytes(copy, (project.path / copy.name).read_bytes(), mode=0o644)


def _bundle(project: Project, publication: Publication, language: str) -> None:
    """Make the bundle, as `shuffler init` or `inviter init`; repeating it changes nothing."""
    del language
    certified = checked_plan(project, publication)
    terms = project.path / TERMS
    if publication.mixers == 1:
        shuffler = load_settings(ShufflerSettings, project.path / FOLDERS["shuffler"])
        if not shuffler.bundle_file.exists():
            new = make_bundle(certified, ShufflerTerms.load(terms))
            _begin_again(shuffler.signing_file, shuffler.secret_file, _store(shuffler))
            mixer_setup.install(shuffler, new.bundle, new.private)
        if publication.local_only:  # both services run here
            places = CollectorPlaces(_folder(project, "collector", PRIVATE_FOLDER))
            keep_bundle(places, shuffler.bundle_file)
        return
    inviter = load_settings(InviterSettings, project.path / FOLDERS["inviter"])
    if not inviter.bundle_file.exists():
        with_mixers = make_mixers_bundle(certified, MixersTerms.load(terms))
        _begin_again(*inviter.private_files, _store(inviter))
        inviter_setup.install(inviter, with_mixers.bundle, with_mixers.keys)
        files = InvitationFiles(inviter.folder / CODES)
        _invite(inviter_setup.open_store(inviter), publication, files)


def _store(settings: StoreSettings) -> Path:
    """Return the file of the default database."""
    return settings.folder / "store.sqlite"


def _begin_again(*files: Path) -> None:
    """Destroy the keys of an interrupted attempt, whose public halves were never written."""
    for file in filter(Path.exists, files):
        destroy(file)


def take_bundle(project: Project, publication: Publication, data: bytes) -> None:
    """Copy a colleague's bundle to the folder of this person's service, as `run --bundle` does.

    Raises ProtocolError or UsageError if it does not belong to this project.
    """
    if not data:
        raise UsageError.of("bundle", "studio.no-bundle")
    if len(data) > MOST_BUNDLE_BYTES:
        raise UsageError.of("bundle", "studio.large-bundle", bytes=MOST_BUNDLE_BYTES)
    with exclusively(project):
        _check_first(project, publication, data)
        check_protected(publication, check_bundle(project, publication, data).plan)
        file = project.path / "bundle.json"
        write_bytes(file, data, mode=0o644)
        (service,) = publication.mine
        folder = project.path / FOLDERS[service]
        if service == "first":
            mixer_setup.take_bundle(load_settings(FirstMixerSettings, folder), file)
        elif service == "second":
            keep_second_bundle(load_settings(SecondMixerSettings, folder), file, system())
        else:
            keep_bundle(CollectorPlaces(folder), file)


def _invitations(project: Project, publication: Publication, language: str) -> None:
    """Create the invitations, as `incrowd invitations`; repeating it changes nothing."""
    del language
    codes = project.path / CODES
    if not codes.exists():
        _invite(inviting_store(project, publication), publication, InvitationFiles(codes))


def inviting_store(project: Project, publication: Publication) -> Store | InviterStore:
    """Return the store of the service that invites, which runs here."""
    folder = project.path / FOLDERS[publication.maker]
    if publication.mixers == 1:
        return mixer_setup.open_store(load_settings(ShufflerSettings, folder))
    return inviter_setup.open_store(load_settings(InviterSettings, folder))


def _invite(store: Store | InviterStore, publication: Publication, files: InvitationFiles) -> None:
    try:
        write_invitations(store, publication.invitations, files, publication.survey_page)
    finally:
        store.engine.dispose()


def _page(project: Project, publication: Publication, language: str) -> None:
    """Write the survey page, as `incrowd page`."""
    del language
    path = project.path / bundle_path(publication)
    content = asked_in(path, None)
    check_certificate(content.plan, str(path))
    write_page(page_files(content, shipped()), _folder(project, PAGE))


def _card(project: Project, publication: Publication, language: str) -> None:
    """Write the card, as `incrowd card`, in the language of the studio."""
    card = card_of(project.path / bundle_path(publication), language=language)
    write_card(card, project.path / CARD)


def _folder(project: Project, name: str, mode: int = 0o777) -> Path:
    return _created(project.path / name, mode)


def _created(folder: Path, mode: int = 0o777) -> Path:
    folder.mkdir(mode, parents=True, exist_ok=True)
    return folder


ACTIONS: Mapping[str, Callable[[Project, Publication, str], None]] = {
    "collector-key": _collector_key,
    "first-key": _first_key,
    "second-key": _second_key,
    "package": _package,
    "bundle": _bundle,
    "invitations": _invitations,
    "page": _page,
    "card": _card,
}


BEFORE_BUNDLE = ("collector-key", "first-key", "second-key", "package", "bundle")


def zipped(project: Project, name: str, language: str) -> bytes:
    """Return a package as one archive: that of a colleague, by the name of its folder in the
    project, or that of the survey page. language: that of the sheet for the host of the page.

    A colleague who needs the bundle gets it when it exists. Raises UsageError if there is no such
    folder.
    """
    folders = {package(project, service).name: service for service in FOLDERS}
    names = (*folders, PAGE)
    folder = project.path / name
    if name not in names or not folder.is_dir():
        raise UsageError.of("file", "studio.no-package", name=name, folders=[*names])
    publication, _ = load_publication(project)
    files = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }
    if name != PAGE:
        allowed = package_names(folders[name])
        files = {path: file for path, file in files.items() if path in allowed}
    contents = {f"{name}/{path}": file.read_bytes() for path, file in files.items()}
    if name == PAGE:
        sheet = page_sheet(project.survey(), publication, language)
        contents = {f"page/{Path(path).name}": data for path, data in contents.items()}
        contents[SHEET] = sheet.encode()
    bundle = bundle_of(project, publication)
    if bundle and name != PAGE and folders[name] != publication.maker:
        contents[f"{name}/{FOLDERS[folders[name]]}/{GIVEN}/{BUNDLE}"] = bundle.encoded
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
    return buffer.getvalue()
