"""The steps that were already taken for a collection, read from the files of its project.

Nothing is remembered beside the files, so that the commands and the studio can take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.folders import BUNDLE
from incrowd.collection.hosting import GIVEN
from incrowd.collection.protocol.addresses import is_by_hand
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.settings import FirstMixerSettings, SecondMixerSettings
from incrowd.errors import IncrowdError, UsageError
from incrowd.plans import Plan
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.projects import Project
from incrowd.studio.publication import (
    FOLDERS,
    TERMS,
    Publication,
    ServiceRole,
    problems_of,
    terms_text,
)
from incrowd.survey import Survey

PlanState = Literal["missing", "stale", "current", "unreadable"]
StepState = Literal["done", "next", "waits", "later"]
STATES: dict[StepState, Phrase] = {
    "done": phrase("Done"),
    "next": phrase("Next"),
    "waits": phrase("Waiting for a colleague"),
    "later": phrase("Later"),
}
PAGE, CARD, CODES, PRINTED = "public", "card.html", "codes.csv", "codes.html"
PACKAGE = "for-"  # folders of files for colleagues
PAGE_ANYWHERE = phrase(
    "A folder of files for any web server. Best is one that none of the organizations of this "
    "survey runs."
)
PAGE_AT_SERVICE = phrase(
    "The service itself shows the page, under its own address. Nothing has to be copied."
)


@dataclass(frozen=True)
class PlanFileState:
    """The plan of a project. problem: why it cannot be read, if it cannot."""

    state: PlanState
    plan: Plan | None = None
    problem: IncrowdError | None = None


def plan_file(project: Project, survey: Survey) -> PlanFileState:
    """Return the plan, and whether it was made from the current survey."""
    path = project.plan_path
    if not path.exists():
        return PlanFileState("missing")
    try:
        plan = _plan(path, path.stat().st_mtime_ns, path.stat().st_size)
    except IncrowdError as error:
        return PlanFileState("unreadable", problem=error)
    return PlanFileState("current" if plan.survey == survey.as_planned else "stale", plan)


@lru_cache(maxsize=256)  # plans, for the list of all surveys
def _plan(path: Path, _time: int, _size: int) -> Plan:
    return Plan.load(path)


def bundle_of(project: Project, publication: Publication) -> Bundle | None:
    """Return the bundle in the folder of this person's service; None before there is one."""
    for service in publication.mine:
        path = project.path / FOLDERS[service] / BUNDLE
        if path.exists():
            return read_bundle(path)
    return None


def read_bundle(path: Path) -> Bundle:
    """Return the bundle in a file. Raises ProtocolError if it cannot be read."""
    return _bundle(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=32)
def _bundle(path: Path, _time: int, _size: int) -> Bundle:
    return Bundle.parse(path.read_bytes())


def bundle_path(publication: Publication) -> str:
    """Return the bundle's file within the project, as commands name it."""
    return f"{FOLDERS[publication.mine[0]]}/{BUNDLE}"


def key_of(project: Project, publication: Publication) -> dict[str, str]:
    """Return the public keys of all services: those that were made here, and those that others
    sent."""
    keys = dict(publication.keys)
    public = CollectorPlaces(project.path / FOLDERS["collector"]).public
    if "collector" in publication.mine and public.exists():
        keys["collector"] = public.read_text(encoding="utf-8").strip()
    return keys


def public_lines(project: Project, service: ServiceRole) -> str:
    """Return the lines with public keys that the inviter needs of a mixer that runs here."""
    kind = SecondMixerSettings if service == "second" else FirstMixerSettings
    public = kind(folder=project.path / FOLDERS[service]).public_file
    return public.read_text(encoding="utf-8") if public.exists() else ""


# The steps of the page, in order: their titles, and the items of the checklist that each contains.
# All items that are in none of them are in the last one.
WIZARD: dict[str, tuple[Phrase, tuple[str, ...]]] = {
    "certify": (phrase("Certify"), ("plan",)),
    "who": (phrase("Who does what"), ()),
    "terms": (phrase("Addresses and times"), ("choices",)),
    "exchange": (
        phrase("Exchange of files"),
        ("collector-key", "first-key", "second-key", "package", "bundle"),
    ),
    "page": (phrase("Publish the page"), ("page", "card")),
    "run": (phrase("Run"), ()),
}
WHO, LAST = "who", "run"


@dataclass(frozen=True)
class WizardStep:
    """One step of the page, with the items of the checklist that it contains."""

    id: str
    title: Phrase
    state: StepState
    items: tuple[Step, ...]


def wizard(listed: Sequence[Step], chosen: bool) -> tuple[WizardStep, ...]:
    """Return the steps of the page. chosen: whether the choice of who does what was saved."""
    shown: list[WizardStep] = []
    for id, (title, _) in WIZARD.items():
        items = tuple(each for each in listed if group_of(each.id) == id)
        state = _state_of(id, items, chosen)
        if state == "next" and any(each.state == "next" for each in shown):
            state = "later"  # one step at a time
        shown.append(WizardStep(id, title, state, items))
    return tuple(shown)


def group_of(item: str) -> str:
    """Return the step of the page that contains an item of the checklist."""
    return next((id for id, (_, items) in WIZARD.items() if item in items), LAST)


def _state_of(id: str, items: Sequence[Step], chosen: bool) -> StepState:
    if id == WHO:
        return "done" if chosen else "next"
    states = {each.state for each in items}
    if states <= {"done"}:
        return "done"
    return next((each for each in ("next", "waits", "later") if each in states), "later")


@dataclass(frozen=True)
class Step:
    """One item of the checklist.

    id: names its action and its place in the page. who: the services that do it, or () for the
    person who designed the survey. command: the same on a command line, in the folder of the
    project. needs: the steps that come before it. action: whether the studio can do it for the
    person who uses it. state, here: whether it is next, and whether this person does it; both are
    set by `steps`, which knows what else is done.
    """

    id: str
    who: tuple[ServiceRole, ...]
    title: Phrase
    command: str
    done: bool
    needs: tuple[str, ...] = ()
    action: bool = False
    note: Phrase | None = None
    state: StepState = "later"
    here: bool = False


def steps(
    project: Project, survey: Survey, publication: Publication, planned: PlanFileState
) -> tuple[Step, ...]:
    """Return the checklist, in order. Raises IncrowdError if the bundle cannot be read."""
    bundle = bundle_of(project, publication)
    items = [
        Step(
            "plan",
            (),
            phrase("Certify the plan"),
            "incrowd plan survey.toml -o plan.json",
            planned.state == "current",
            action=True,
        ),
        *_before_bundle(project, survey, publication, planned, bundle),
        *_after_bundle(project, publication, bundle),
    ]
    done = {item.id for item in items if item.done}
    return tuple(_in_turn(item, done, publication) for item in items)


def _in_turn(step: Step, done: set[str], publication: Publication) -> Step:
    """Return a step with its state, given the steps that are done."""
    here = not step.who or bool({*step.who} & {*publication.mine})
    state: StepState = "next" if here else "waits"
    if step.done:
        state = "done"
    elif not {*step.needs} <= done:
        state = "later"
    return replace(step, state=state, here=here, action=step.action and here)


def _before_bundle(
    project: Project,
    survey: Survey,
    publication: Publication,
    planned: PlanFileState,
    bundle: Bundle | None,
) -> list[Step]:
    folder, agreed = project.path, bundle is not None
    key = Step(
        "collector-key",
        ("collector",),
        phrase("Create the collector's key"),
        "incrowd collector init collector",
        agreed or bool(key_of(project, publication).get("collector")),
        action=True,
    )
    choices = Step(
        "choices",
        (),
        phrase("Choose who runs what"),
        "",
        not problems_of(publication, survey, planned.plan),
        note=phrase("The choices are in publication.toml, which the form above writes."),
    )
    items = [key]
    if publication.mixers == 2:
        items += [
            Step(
                "first-key",
                ("first",),
                phrase("Create the first mixer's key, and send its line to the inviter"),
                "incrowd first-mixer init first-mixer",
                agreed or _has_keys(folder, publication, "first"),
                action=True,
            ),
            Step(
                "second-key",
                ("second",),
                phrase("Create the second mixer's keys, and send their lines to the inviter"),
                "incrowd second-mixer init second-mixer",
                agreed or _has_keys(folder, publication, "second"),
                action=True,
            ),
        ]
    keys = [item.id for item in items]
    maker = publication.maker
    items += [
        choices,
        Step(
            "package",
            (),
            phrase("Write the terms and the package for each colleague"),
            "",
            agreed or _packed(project, survey, publication, planned),
            ("plan", "choices"),
            action=True,
            note=phrase(
                "For each colleague, one archive with all that is needed to run the service, and a "
                "sheet that says what to do. It contains no secret."
            ),
        ),
        Step(
            "bundle",
            (maker,),
            phrase("Create the bundle (the file that everyone agrees on)"),
            _maker_command(publication),
            agreed,
            (*keys, "package"),
            action=True,
            note=phrase(
                "The bundle contains what everyone agrees on: plan, times, addresses, and public "
                "keys."
            ),
        ),
    ]
    return items


def _maker_command(publication: Publication) -> str:
    if publication.mixers == 1:
        return "incrowd shuffler init shuffler plan.json collection.toml"
    page = f" --survey-page {publication.survey_page}" if publication.survey_page else ""
    return (
        "incrowd inviter init inviter plan.json collection.toml "
        f"--invitations {publication.invitations}{page}"
    )


def _has_keys(folder: Path, publication: Publication, service: ServiceRole) -> bool:
    """Return whether the keys of a mixer exist here, or were sent."""
    place = folder / FOLDERS[service]
    keys = publication.keys
    if service == "first":
        return FirstMixerSettings(folder=place).public_file.exists() or bool(keys.get("first"))
    there = SecondMixerSettings(folder=place).public_file.exists()
    return bool(there or (keys.get("second") and keys.get("second_configuration")))


def _packed(
    project: Project, survey: Survey, publication: Publication, planned: PlanFileState
) -> bool:
    """Return whether the terms and the copies for colleagues match the current choices."""
    path = project.path / TERMS
    problems = problems_of(publication, survey, planned.plan)
    if not path.exists() or problems or planned.state != "current":
        return False
    text = terms_text(publication, survey, key_of(project, publication))
    if path.read_text(encoding="utf-8", errors="replace") != text:
        return False
    return all(
        each.exists() and each.read_bytes() == (project.path / each.name).read_bytes()
        for service in publication.theirs
        for each in package_copies(project, publication, service)
    )


def package(project: Project, service: ServiceRole) -> Path:
    """Return the folder with the files for the colleague who runs a service."""
    return project.path / f"{PACKAGE}{FOLDERS[service]}"


def package_copies(
    project: Project, publication: Publication, service: ServiceRole
) -> tuple[Path, ...]:
    """Return the files of the project that the colleague receives."""
    names = ("plan.json", TERMS) if service == publication.maker else ()
    folder = package(project, service) / FOLDERS[service] / GIVEN
    return tuple(folder / name for name in names)


def _after_bundle(project: Project, publication: Publication, bundle: Bundle | None) -> list[Step]:
    folder, file = project.path, bundle_path(publication)
    address = publication.addresses.get(publication.maker)
    hosted = publication.page_at_service or (bool(address) and publication.survey_page == address)
    opened = any((folder / FOLDERS["collector"] / "opened").glob("release-*"))
    running = [each for each in publication.services if each != "collector"]
    items = [
        Step(
            "page",
            (),
            phrase("Write the survey page"),
            f"incrowd page {file} -o {PAGE}",
            bundle is not None and _pinned(folder / PAGE / "index.html", bundle),
            ("bundle",),
            action=True,
            note=PAGE_AT_SERVICE if hosted else PAGE_ANYWHERE,
        ),
        Step(
            "card",
            (),
            phrase("Write the guarantee card for the review board"),
            f"incrowd card {file} -o {CARD}",
            bundle is not None and _pinned(folder / CARD, bundle.plan),
            ("bundle",),
            action=True,
        ),
    ]
    if publication.invitations:
        items.append(_invitations(project, publication, opened))
    for service in running:
        name = FOLDERS[service]
        items.append(
            Step(
                f"run-{service}",
                (service,),
                _RUN[service],
                f"incrowd host {name}/{name}.toml",
                opened,
                ("bundle",),
            )
        )
    by_hand = is_by_hand(publication.addresses.get("collector", ""))
    opening = phrase("Open the release that your colleague sends as a file")
    receiving = phrase("Run the collector until everything is opened")
    items.append(
        Step(
            "run-collector",
            ("collector",),
            opening if by_hand else receiving,
            "" if by_hand else "incrowd host collector/collector.toml",
            opened,
            ("bundle",),
        )
    )
    return items


def _invitations(project: Project, publication: Publication, opened: bool) -> Step:
    """Return the step that invites people; with two mixers, `inviter init` does it."""
    number, printed = publication.invitations, f"-o {CODES}"
    page = f" --survey-page {publication.survey_page}" if publication.survey_page else ""
    command = f"incrowd invitations {number} {printed}{page}"
    if publication.mixers == 2:
        command = f"incrowd inviter invite {number} {printed}{page}"
    files = (project.path / CODES, project.path / FOLDERS["inviter"] / CODES)
    return Step(
        "invitations",
        (publication.maker,),
        phrase("Create the invitations, and send each one to one person"),
        command,
        opened or any(file.exists() for file in files),
        ("bundle",),
        action=True,
        note=phrase("Anyone who has the file of invitations could answer for everyone."),
    )


# What to send to whom while a colleague has an item, and what happens next.
WAITS: dict[str, Phrase] = {
    "collector-key": phrase(
        "Whoever counts creates a key, and sends you the text of the file collector_key.txt; it is "
        "not secret. Enter it in the step “Addresses and times”, under “More”."
    ),
    "first-key": phrase(
        "Send the first mixer its package. Its first start creates keys; their line goes to the "
        "inviter. You need not do anything meanwhile."
    ),
    "second-key": phrase(
        "Send the second mixer its package. Its first start creates keys; their lines go to the "
        "inviter. You need not do anything meanwhile."
    ),
    "bundle": phrase(
        "Download the package above, and send it to whoever invites. There it is started, and "
        "creates the file bundle.json. You get this file back: choose it below. Then you compare "
        "the short digest over the phone, and publish the page."
    ),
    "invitations": phrase(
        "Whoever invites creates the invitations and sends them out; you never see them. Agree on "
        "the day. You can send the text of the letter, from the page of invitations."
    ),
    "run-shuffler": phrase(
        "The service runs at the other organization until closing. You see on the page Watch "
        "whether it can be reached. After closing, you get the release (the mixed answers)."
    ),
    "run-inviter": phrase(
        "The service runs at the other organization until closing. You need not do anything "
        "meanwhile."
    ),
    "run-first": phrase(
        "The service runs at the other organization until closing. Then it passes everything on to "
        "the second mixer."
    ),
    "run-second": phrase(
        "The service runs at the other organization until closing. Then you get the release (the "
        "mixed answers)."
    ),
    "run-collector": phrase(
        "After closing, whoever counts opens the release (the mixed answers), and tells you a "
        "code. With it, the services destroy their keys."
    ),
}
_RUN: dict[ServiceRole, Phrase] = {
    "shuffler": phrase("Run the shuffler until the release is confirmed"),
    "inviter": phrase("Run the inviter until it has signed how many invitations were used"),
    "first": phrase("Run the first mixer until the batch is confirmed"),
    "second": phrase("Run the second mixer until all releases are confirmed"),
}


def _pinned(path: Path, content: Bundle | Plan) -> bool:
    """Return whether a page names the digest of a bundle or of a plan."""
    digest = content.digest.hex() if isinstance(content, Bundle) else content.digest
    return path.exists() and digest in path.read_text(encoding="utf-8", errors="replace")


_RECEIVES: dict[int, ServiceRole] = {1: "shuffler", 2: "first"}  # the service that uploads go to


def check_bundle(project: Project, publication: Publication, data: bytes) -> Bundle:
    """Return the bundle that a colleague sent, checked against this project.

    Raises ProtocolError if it is not a bundle, UsageError if it is for another plan, another key,
    other services, or other terms than were chosen.
    """
    bundle = Bundle.parse(data)
    plan = Plan.load(project.plan_path)
    if bundle.plan.digest != plan.digest:
        theirs = bundle.plan.digest
        raise UsageError.of(
            ("bundle", "plan"), "studio.another-plan", digest=theirs, expected=plan.digest
        )
    key = key_of(project, publication).get("collector", "")
    if "collector" in publication.mine and bundle.key.encoded.hex() != key:
        path, theirs = ("bundle", "key_configuration"), bundle.key.encoded.hex()
        raise UsageError.of(path, "studio.another-key", key=theirs, expected=key)
    addresses = publication.addresses
    for field, value, chosen in (
        *_parties(bundle, publication),
        ("mixers", bundle.mixers, publication.mixers),
        ("period", bundle.period, publication.period),
        ("opens", bundle.opens, publication.opens),
        ("closes", bundle.closes, publication.closes),
        ("codes", bundle.codes, publication.invitations > 0),
        ("collector", bundle.collector_address, addresses.get("collector", "")),
        ("uploads", bundle.upload_address, addresses.get(_RECEIVES[publication.mixers], "")),
    ):
        if value != chosen:
            path = ("bundle", field)
            raise UsageError.of(path, "studio.another-choice", value=value, chosen=chosen)
    return bundle


def _parties(bundle: Bundle, publication: Publication) -> Iterator[tuple[str, object, object]]:
    """Yield what a bundle states of who runs what, and what was chosen. Promises depend on it."""
    if isinstance(bundle, MixersBundle):
        for service in publication.services:
            stated = getattr(bundle.runs, service)
            yield service, stated, publication.organizations.get(service, "")
    else:
        yield "local_only", bundle.one_party, publication.local_only
