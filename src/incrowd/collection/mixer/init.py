"""Making a bundle: a plan, and what whoever runs the collection states about it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel, ConfigDict, ValidationError

from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle, least_reserve
from incrowd.collection.protocol.upload import RANDOM_BYTES, new_code
from incrowd.errors import MISSING, IncrowdError, IncrowdWarning, InWords, UsageError
from incrowd.plans import Guarantee, Plan
from incrowd.plans.message import place
from incrowd.plans.slots import slots
from incrowd.plans.strata import strata
from incrowd.survey import Survey
from incrowd.survey.toml import read_toml
from incrowd.survey.wording import known_keys, wording
from incrowd.survey.words import look_alike_warnings

# Invitations: codes that the shuffler's side makes, and gives to one person each.


class Invitation(NamedTuple):
    """A code as it is printed, and a link that holds it. Whoever has it can answer once."""

    code: str
    link: str


def new_invitations(store: Store, number: int, page: str = "") -> list[Invitation]:
    """So many new ones, random from the system; `issue` makes them valid.

    page: address of a survey page, where links lead then; `incrowd send` wants the shuffler's.
    Raises StoreError if the bundle asks for none.
    """
    bundle = store.bundle
    if not bundle.codes:
        allowed = "use a bundle with codes = true; this one needs no invitations"
        raise StoreError.of("bundle", InWords("is of an open survey"), allowed)
    made = [new_code(os.urandom(RANDOM_BYTES)) for _ in range(number)]
    links = (Link(page or bundle.addresses.shuffler, bundle.digest, code) for code in made)
    return [Invitation(addresses.grouped(link.code), str(link)) for link in links]


def issue(store: Store, invitations: Sequence[Invitation]) -> None:
    """Keep the codes, as tags that nobody reads: from now on they can be used once."""
    store.invite([addresses.plain(each.code).encode() for each in invitations])


MISSPELLED = "extra_forbidden"  # of pydantic

EVERYBODY = "all"  # the only stratum where no question is open


class Terms(BaseModel):
    """What a file about a collection says; the bundle has the same words.

    title, language, questions (the text of each, by its id): the survey's, unless they are given;
    a question without a text in the survey needs one here. key_configuration: what
    `incrowd collector init` gave. colluding: as in the survey; it has to be said where nobody is
    invited. strata, small_strata: those of the survey's open questions and its rule, which need
    not be said again. shuffler, collector: their addresses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str | None = None
    introduction: str = ""
    language: str | None = None
    questions: dict[str, str] = {}
    period: str
    opens: str
    closes: str
    disposes: str
    wanted: int | None = None
    strata: tuple[str, ...] | None = None
    small_strata: Literal["delete", "merge"] | None = None
    codes: bool
    colluding: int | None = None
    reserve: int | None = None
    local_only: bool = False
    shuffler: str
    collector: str
    key_configuration: str

    @classmethod
    def load(cls, path: Path) -> Terms:
        """Those of a TOML file. Raises UsageError for what is missing or does not belong there."""
        try:
            return cls.model_validate(read_toml(path, "collection"))
        except ValidationError as error:
            raise _wrong(error) from None


@dataclass(frozen=True)
class Made:
    """A bundle, the shuffler's private key for it, and what it guarantees.

    guarantee: that of the plan, and what it costs that devices draw again until all fits; the local
    one if nothing else holds for this bundle.
    """

    bundle: Bundle
    private: Ed25519PrivateKey
    guarantee: Guarantee


def make_bundle(plan: Plan, terms: Terms) -> Made:
    """A bundle with a new signing key, for a plan that was certified.

    Raises UsageError if the terms leave out or contradict what the plan rests on, and
    ProtocolError for a bundle that is none.
    """
    _check(terms)
    private, survey = Ed25519PrivateKey.generate(), plan.survey
    said = terms.model_dump(include=set(Bundle.model_fields) & set(Terms.model_fields))
    reserve = least_reserve(survey.crowd) if terms.reserve is None else terms.reserve
    more = {
        "plan": plan,
        "wording": _wording(survey, terms),
        "slots": slots(plan),
        "shuffler_key": private.public_key().public_bytes_raw().hex(),
        "addresses": {"shuffler": terms.shuffler, "collector": terms.collector},
        "colluding": survey.colluding if terms.colluding is None else terms.colluding,
        "reserve": reserve,
        "strata": terms.strata or strata(survey) or (EVERYBODY,),
        "small_strata": terms.small_strata or survey.small_strata,
    }
    try:
        bundle = Bundle.model_validate(said | more)
    except ValidationError as error:
        raise _wrong(error) from None
    for line in look_alike_warnings((), bundle.strata if terms.strata else ()):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    from incrowd.collection.claims import bundle_guarantee  # slow to load: a service never needs it

    return Made(bundle, private, bundle_guarantee(bundle))


def _wording(survey: Survey, terms: Terms) -> dict[str, Any]:
    """What people read: as the terms say it, else as the survey does."""
    language = terms.language or survey.language
    texts = {q.id: survey.text_of(q.id, language) for q in survey.questions if q.text}
    found = texts | terms.questions
    for question in survey.questions:
        if question.id not in found:
            allowed = "write the text of the question into the survey, or into this file"
            raise UsageError.of(f"questions.{question.id}", MISSING, allowed)
    title, introduction = terms.title or survey.name, terms.introduction
    return {
        "language": language,
        "title": title,
        "introduction": introduction,
        "questions": found,
    }


def _check(terms: Terms) -> None:
    """What no default may decide."""
    if not terms.codes and terms.colluding is None:
        allowed = "say how many of the senders may be one party; nobody is invited here"
        raise UsageError.of("colluding", MISSING, allowed)
    same = urlsplit(terms.shuffler).hostname == urlsplit(terms.collector).hostname
    if same and not terms.local_only:
        allowed = "should be another party's than the collector's, or set local_only = true"
        raise UsageError.of("shuffler", terms.shuffler, allowed)


def _wrong(error: ValidationError) -> IncrowdError:
    first = min(error.errors(), key=lambda each: each["type"] != MISSPELLED)
    field = place("", first["loc"]).lstrip(".")
    if first["type"] == "missing":
        return UsageError.of(field, MISSING, "write it into the file about the collection")
    if first["type"] == MISSPELLED:
        return UsageError.of(field, first["input"], known_keys(field, Terms.model_fields))
    return UsageError.of(field, first["input"], wording(first))
