"""The parties of a collection and their work, as plain TOML, and the terms that follow from it.

`publication.toml` holds the choices of the form on the page. `collection.toml`, which the commands
`shuffler init` and `inviter init` read, follows from it and from the survey.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import tomlkit
from pydantic import AfterValidator, Field, ValidationError, field_validator

from incrowd.accountant.analyses import analysis
from incrowd.accountant.channels.base import rounded_down
from incrowd.collection.claims import claims_of_plan
from incrowd.collection.protocol.addresses import as_address, checked_address, host, location
from incrowd.collection.protocol.bundle import TIME, TO_DELIVER, Runs, as_time
from incrowd.errors import IncrowdError, Place, Problem, Unfit, UsageError
from incrowd.files import write_text
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import Service as NamedService
from incrowd.guarantees.strength import EPSILONS, Strength, strength_of
from incrowd.plans import Guarantee, Plan
from incrowd.presentation.guarantee_text import left_in_words
from incrowd.reports.locking import locked
from incrowd.studio.document import version
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.projects import ConflictError, Project
from incrowd.survey import Survey
from incrowd.survey.participation import people_of_release
from incrowd.survey.reasons import wording
from incrowd.survey.toml import Frozen, read_toml

FILE, TERMS = "publication.toml", "collection.toml"
MOST_INVITATIONS = 10**7
PUBLICATION_MODE = 0o644
NONE: Strength = "practically-none"
MOST = EPSILONS[-1]  # the largest epsilon that the studio publishes
# Choices that can change after publication: bundles with one mixer name no organizations.
_IN_NO_BUNDLE = {
    1: {"survey_page", "page_at_service", "zone", "invitations", "organizations"},
    2: {"survey_page", "page_at_service", "zone", "invitations"},
}
DISPOSED_AFTER = timedelta(days=30)

ServiceRole = Literal["shuffler", "inviter", "first", "second", "collector"]
Here = Literal["collector", "shuffler", "both", "inviter", "first", "second"]
SERVICES: dict[int, tuple[ServiceRole, ...]] = {
    1: ("shuffler", "collector"),
    2: ("inviter", "first", "second", "collector"),
}
# The folders of the services, which are also the names of their commands.
FOLDERS: dict[ServiceRole, str] = {
    "shuffler": "shuffler",
    "inviter": "inviter",
    "first": "first-mixer",
    "second": "second-mixer",
    "collector": "collector",
}
NAMES: dict[ServiceRole, Phrase] = {
    "shuffler": phrase("Shuffler"),
    "inviter": phrase("Inviter"),
    "first": phrase("First mixer"),
    "second": phrase("Second mixer"),
    "collector": phrase("Collector"),
}
_NAMED: dict[ServiceRole, NamedService] = {
    "inviter": "inviter",
    "first": "first mixer",
    "second": "second mixer",
    "collector": "collector",
}


def _address(text: str) -> str:
    return checked_address(as_address(text)) if text.strip() else ""


def _time(text: str) -> str:
    if text:
        as_time(text)
    return text


FormAddress = Annotated[str, AfterValidator(_address)]
FormTime = Annotated[str, AfterValidator(_time)]


class Publication(Frozen):
    """The choices of the page. Choices that are still open are empty.

    mixers: 1 for a shuffler, 2 for two mixers and an inviter. here: what the person at this studio
    runs. organizations, addresses: by service. keys: public keys that others sent, by the fields
    `first`, `second`, `second_configuration` and `collector`. survey_page: the address of the page
    where people answer. page_at_service: whether that is always the service that makes the bundle.
    zone: the time zone in which the times were chosen, such as "Europe/Berlin". invitations: their
    number, or 0 if anyone who has the link may answer.
    """

    mixers: Literal[1, 2] = 1
    here: Here = "collector"
    organizations: dict[ServiceRole, str] = Field(default_factory=dict)
    addresses: dict[ServiceRole, FormAddress] = Field(default_factory=dict)
    keys: dict[str, str] = Field(default_factory=dict)
    survey_page: FormAddress = ""
    page_at_service: bool = False
    language: str = ""
    introduction: str = ""
    period: str = ""
    opens: FormTime = ""
    closes: FormTime = ""
    disposes: FormTime = ""
    zone: str = ""
    invitations: int = 0

    @field_validator("invitations")
    @classmethod
    def _positive(cls, number: int) -> int:
        if not 0 <= number <= MOST_INVITATIONS:
            raise Unfit("studio.number-of-invitations", most=MOST_INVITATIONS)
        return number

    @property
    def services(self) -> tuple[ServiceRole, ...]:
        """All services of the collection."""
        return SERVICES[self.mixers]

    @property
    def mine(self) -> tuple[ServiceRole, ...]:
        """The services that run here; the collector if the choice does not fit the mixers."""
        if self.here == "both" and self.mixers == 1:
            return self.services
        return tuple(each for each in self.services if each == self.here) or ("collector",)

    @property
    def theirs(self) -> tuple[ServiceRole, ...]:
        """The services that others run."""
        return tuple(each for each in self.services if each not in self.mine)

    @property
    def local_only(self) -> bool:
        """Whether one party mixes and opens reports, so that only the local guarantee is left."""
        return self.mine == SERVICES[1]

    @property
    def maker(self) -> ServiceRole:
        """The service that makes the bundle."""
        return self.services[0]

    @property
    def time_zone(self) -> ZoneInfo | None:
        """The time zone in which the times were chosen; None if it is not known."""
        if not self.zone:
            return None
        with suppress(OSError, ValueError, ZoneInfoNotFoundError):
            return ZoneInfo(self.zone)
        return None

    def dumps(self) -> str:
        """Return the text of the file."""
        document = tomlkit.document()
        document.add(tomlkit.comment("Who runs what. The studio writes this file; edit it freely."))
        stated = self.model_dump()
        for name in sorted(stated, key=lambda name: isinstance(stated[name], dict)):  # tables last
            if stated[name] not in ("", {}):
                document[name] = stated[name]
        return tomlkit.dumps(document)


def parsed(values: Mapping[str, Any]) -> Publication:
    """Return the publication with some values. Raises UsageError with every mistake."""
    try:
        return Publication.model_validate(values)
    except ValidationError as error:
        raise UsageError(
            *(
                Problem(each["loc"], "survey.unfit", value=each["input"], reason=wording(each))
                for each in error.errors()
            )
        ) from None


def load_publication(project: Project) -> tuple[Publication, str]:
    """Return the publication of a project, and the version of its text. Raises UsageError."""
    path = project.path / FILE
    if not path.exists():
        return Publication(), version("")
    text = path.read_bytes().decode("utf-8", "replace")
    return parsed(read_toml(path, "publication")), version(text)


def introduction_of(project: Project) -> str:
    """Return the text above the questions; "" if there is none, or the choices cannot be read."""
    with suppress(IncrowdError):
        return load_publication(project)[0].introduction
    return ""


def save_publication(project: Project, publication: Publication, expected: str) -> None:
    """Write the choices. Raises ConflictError if another window changed them meanwhile, UsageError
    for changes of what a published bundle states."""
    path = project.path / FILE
    with locked(path):
        text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        if version(text) != expected:
            raise ConflictError.of("publication", "studio.choices-changed", path=str(path))
        if project.is_published:
            _check_unchanged(load_publication(project)[0], publication)
        if text != publication.dumps():
            write_text(path, publication.dumps(), mode=PUBLICATION_MODE)


def _check_unchanged(before: Publication, after: Publication) -> None:
    """Raise UsageError for each changed choice that the bundle states."""
    stated = Publication.model_fields.keys() - _IN_NO_BUNDLE[before.mixers]
    changed = sorted(name for name in stated if getattr(before, name) != getattr(after, name))
    if bool(before.invitations) != bool(after.invitations):
        changed.append("invitations")
    if changed:
        raise UsageError(*(Problem(name, "studio.published") for name in changed))


def by_services(survey: Survey, plan: Plan | None = None) -> bool:
    """Return whether services add noise: by the survey's plan, or as the survey asks."""
    if plan is not None and plan.survey == survey.as_planned:
        return plan.by_services
    return survey.privacy.noise == "services"


def needs_no_crowd(survey: Survey, plan: Plan | None = None) -> bool:
    """Return whether services add all noise: by the survey's plan, or as the survey asks."""
    if plan is not None and plan.survey == survey.as_planned:
        return plan.guarantee.crowd is None
    return survey.privacy.noise == "services"


def needed_people(survey: Survey, plan: Plan | None = None) -> int:
    """Return the number of people that a release needs."""
    if needs_no_crowd(survey, plan):
        return survey.least
    return people_of_release(survey.crowd)


def problems_of(
    publication: Publication, survey: Survey, plan: Plan | None = None
) -> list[Problem]:
    """Return what is missing or contradictory before the terms can be written.

    plan: that of the survey, if it was certified.
    """
    missing = [Problem(path, "studio.no-entry") for path in _missing(publication)]
    return [*missing, *_contradictions(publication), *_unfit(publication, survey, plan)]


def _missing(publication: Publication) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the fields without which no terms can be written."""
    for field in ("period", "opens", "closes"):
        if not getattr(publication, field):
            yield (field,)
    tables = ("addresses", "organizations") if publication.mixers == 2 else ("addresses",)
    for table in tables:
        for service in publication.services:
            if not getattr(publication, table).get(service):
                yield table, service


def _contradictions(publication: Publication) -> Iterator[Problem]:
    """Yield choices that exclude each other; the bundle would be refused."""
    opens, closes, disposes = publication.opens, publication.closes, publication.disposes
    if opens and closes and opens >= closes:
        yield Problem("closes", "studio.closes-early", closes=closes, opens=opens)
    if closes and disposes:
        delivery = TO_DELIVER if publication.mixers == 2 else timedelta(0)
        if as_time(disposes) - as_time(closes) < delivery or disposes < closes:
            code = "studio.disposes-within-a-day" if delivery else "studio.disposes-early"
            yield Problem("disposes", code, disposes=disposes)
    given = [publication.addresses.get(each, "") for each in publication.services]
    # `shuffler init` takes two ports of one host for one party, also on this machine.
    host_of = location if publication.mixers == 2 else host
    hosts = [host_of(address) for address in given if address]
    if len(set(hosts)) < len(hosts) and not publication.local_only:
        code = "studio.one-host-for-shuffler" if publication.mixers == 1 else "studio.one-host"
        yield Problem("addresses", code, hosts=", ".join(hosts))
    runs = runs_of(publication) if publication.mixers == 2 else None
    if runs and runs.same("inviter", "collector"):
        path = ("organizations", "collector")
        yield Problem(path, "studio.collector-invites", organization=runs.collector)


def unprotected(publication: Publication, survey: Survey, plan: Plan | None) -> Iterator[Problem]:
    """Yield why the collection would leave people practically no protection."""
    privacy, people = survey.privacy, survey.crowd
    for field, epsilon in (
        ("epsilon", privacy.epsilon),
        ("service_epsilon", privacy.service_epsilon or 0.0),
    ):
        if strength_of(epsilon) == NONE:
            yield Problem(("privacy", field), "studio.large-epsilon", value=epsilon, most=MOST)
    if analysis(privacy.analysis).shuffled and strength_of(0.0, privacy.delta, people) == NONE:
        good = rounded_down(1 / (100 * people), 1)
        path = ("privacy", "delta")
        yield Problem(path, "studio.large-delta", value=privacy.delta, people=people, good=good)
    if plan is None or strength_of(plan.guarantee.epsilon) == NONE:
        return
    held = promise_of(plan, publication)
    if strength_of(held.epsilon) == NONE:
        left = left_in_words(held.epsilon)
        yield Problem(("organizations", "collector"), "studio.one-party", left=left, most=MOST)


def _unfit(publication: Publication, survey: Survey, plan: Plan | None) -> Iterator[Problem]:
    """Yield what the survey would have to state for this collection."""
    yield from unprotected(publication, survey, plan)
    if publication.mixers == 2 and by_services(survey, plan):
        yield Problem(("privacy", "noise"), "studio.mixers-add-nothing", noise=survey.privacy.noise)
    invited = publication.invitations
    if not invited and publication.mixers == 2:
        yield Problem("invitations", "studio.mixers-need-invitations", invitations=invited)
    elif not invited and not survey.colluding and not needs_no_crowd(survey, plan):
        yield Problem("invitations", "studio.anyone-answers", invitations=invited)
    least = needed_people(survey, plan)
    if 0 < invited < least:
        yield Problem("invitations", "studio.few-invitations", invitations=invited, least=least)
    if publication.mixers == 1 and survey.small_strata == "merge" and by_services(survey, plan):
        yield Problem("small_strata", "collection.services-merge-no-strata")
    if publication.mixers == 2 and survey.small_strata == "merge":
        yield Problem("small_strata", "studio.mixers-merge-nothing", rule=survey.small_strata)
    for question in survey.questions:
        if not question.text:
            yield Problem(Place("question", question.id), "studio.no-text")


def terms_text(publication: Publication, survey: Survey, keys: Mapping[str, str]) -> str:
    """Return the text of the terms, which `shuffler init` or `inviter init` reads.

    keys: public keys by the fields of `Publication.keys`; a missing one is left empty, with a
    comment that says who sends it. Raises UsageError for what is missing in the publication.
    """
    if problems := problems_of(publication, survey):
        raise UsageError(*problems)
    disposes = publication.disposes or (as_time(publication.closes) + DISPOSED_AFTER).strftime(TIME)
    document = tomlkit.document()
    document.add(tomlkit.comment(f"The terms of the collection {survey.name!r}; times are UTC."))
    stated: dict[str, Any] = {"language": publication.language}
    stated |= {"introduction": publication.introduction}
    stated = {name: text for name, text in stated.items() if text}
    stated |= {"period": publication.period, "opens": publication.opens}
    stated |= {"closes": publication.closes, "disposes": disposes}
    add = _mixers_terms if publication.mixers == 2 else _shuffler_terms
    for name, value in (stated | add(publication, survey, keys)).items():
        document[name] = value
    return tomlkit.dumps(document)


def _shuffler_terms(
    publication: Publication, survey: Survey, keys: Mapping[str, str]
) -> dict[str, Any]:
    terms: dict[str, Any] = {"codes": publication.invitations > 0}
    if not publication.invitations:
        terms["colluding"] = survey.colluding
    if publication.local_only:
        terms["local_only"] = True
    terms |= {each: publication.addresses[each] for each in publication.services}
    return terms | {"key_configuration": _key(keys, "collector", "collector")}


def _mixers_terms(
    publication: Publication, survey: Survey, keys: Mapping[str, str]
) -> dict[str, Any]:
    address = publication.addresses
    tables: dict[str, dict[str, Any]] = {
        "runs": {each: publication.organizations[each] for each in publication.services},
        "inviter": {"address": address["inviter"]},
        "first": {"address": address["first"], "key": _key(keys, "first", "first mixer")},
        "second": {
            "address": address["second"],
            "key": _key(keys, "second", "second mixer"),
            "key_configuration": _key(keys, "second_configuration", "second mixer"),
        },
        "collector": {
            "address": address["collector"],
            "key_configuration": _key(keys, "collector", "collector"),
        },
    }
    return tables


def _key(keys: Mapping[str, str], field: str, sender: str) -> Any:
    """Return the key, or an empty text with a comment that says who sends it."""
    item = tomlkit.string(keys.get(field, ""))
    return item if keys.get(field) else item.comment(f"from the {sender}")


def promise_of(plan: Plan, publication: Publication) -> Guarantee:
    """Return what the collection will promise, if these parties run the services."""
    if publication.mixers == 1:
        one_party = publication.local_only
        return guarantee_of(plan, claims=[claims_of_plan(plan, one_party=one_party)])
    runs = runs_of(publication)
    both = runs is not None and runs.same("first", "collector") and runs.same("second", "collector")
    cells = any(message.cells for message in plan.messages)
    thinned = runs is not None and cells and runs.same("first", "collector")
    return guarantee_of(plan, claims=[claims_of_plan(plan, 2, one_party=both, thinned=thinned)])


def runs_of(publication: Publication) -> Runs | None:
    """Return the organizations of a collection with two mixers; None if they are not all named."""
    names = {each: publication.organizations.get(each, "") for each in SERVICES[2]}
    return Runs.model_validate(names) if all(names.values()) else None


def organizations(publication: Publication) -> dict[NamedService, str] | None:
    """Return the organizations by the names of the services in sentences."""
    runs = runs_of(publication)
    return None if runs is None else {_NAMED[each]: getattr(runs, each) for each in SERVICES[2]}
