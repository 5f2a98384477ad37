"""Make a bundle from a plan and the terms of a collection; make invitations."""

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
from incrowd.collection.protocol.bundle import ShufflerBundle, least_reserve
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


class Invitation(NamedTuple):
    """A printed code and the link that contains it. Its holder can answer once."""

    code: str
    link: str


def new_invitations(store: Store, number: int, page: str = "") -> list[Invitation]:
    """Return a number of new random invitations; `issue` makes them valid.

    page: the address of a survey page for the links; by default that of the shuffler, which
    `incrowd send` requires. Raises StoreError if the bundle uses no invitations.
    """
    bundle = store.bundle
    if not bundle.codes:
        allowed = "this bundle needs no invitations; use a bundle with codes = true"
        raise StoreError.of("bundle", InWords("accepts answers without invitations"), allowed)
    codes = [new_code(os.urandom(RANDOM_BYTES)) for _ in range(number)]
    links = (Link(page or bundle.upload_address, bundle.digest, code) for code in codes)
    return [Invitation(addresses.grouped(link.code), str(link)) for link in links]


def issue(store: Store, invitations: Sequence[Invitation]) -> None:
    """Store the codes as unreadable tags; from now on each can be used once."""
    store.invite([addresses.plain(each.code).encode() for each in invitations])


MISSPELLED = "extra_forbidden"  # of pydantic

EVERYBODY = "all"  # the only stratum if no question is open


class Terms(BaseModel):
    """The terms of a collection, from its TOML file; the fields are those of the bundle.

    title, language, questions (text by id): by default those of the survey; a question without a
    text in the survey needs one here. key_configuration: the output of `incrowd collector init`.
    colluding: by default as in the survey; required if there are no invitations. strata,
    small_strata: by default from the survey's open questions. shuffler, collector: addresses.
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
        """Return the terms in a TOML file. Raises UsageError for missing or unknown fields."""
        try:
            return cls.model_validate(read_toml(path, "collection"))
        except ValidationError as error:
            raise _wrong(error) from None


@dataclass(frozen=True)
class NewBundle:
    """A bundle, the shuffler's private key for it, and its guarantee.

    guarantee: that of the plan, including the cost of redraws until all reports fit; the local
    guarantee if nothing else holds for this bundle.
    """

    bundle: ShufflerBundle
    private: Ed25519PrivateKey
    guarantee: Guarantee


def make_bundle(plan: Plan, terms: Terms) -> NewBundle:
    """Return a bundle with a new signing key for a certified plan.

    Raises UsageError if the terms omit or contradict an assumption of the plan, and ProtocolError
    if the bundle is invalid.
    """
    _check(terms)
    private, survey = Ed25519PrivateKey.generate(), plan.survey
    stated = terms.model_dump(include=set(ShufflerBundle.model_fields) & set(Terms.model_fields))
    reserve = least_reserve(survey.crowd) if terms.reserve is None else terms.reserve
    derived = {
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
        bundle = ShufflerBundle.model_validate(stated | derived)
    except ValidationError as error:
        raise _wrong(error) from None
    for line in look_alike_warnings((), bundle.strata if terms.strata else ()):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    from incrowd.collection.claims import bundle_guarantee  # slow to load; services do not need it

    return NewBundle(bundle, private, bundle_guarantee(bundle))


def _wording(survey: Survey, terms: Terms) -> dict[str, Any]:
    """Return the texts that people read: those of the terms, otherwise those of the survey."""
    language = terms.language or survey.language
    texts = {q.id: survey.text_of(q.id, language) for q in survey.questions if q.text}
    questions = texts | terms.questions
    for question in survey.questions:
        if question.id not in questions:
            allowed = "add the text of the question to the survey or to this file"
            raise UsageError.of(f"questions.{question.id}", MISSING, allowed)
    title, introduction = terms.title or survey.name, terms.introduction
    return {
        "language": language,
        "title": title,
        "introduction": introduction,
        "questions": questions,
    }


def _check(terms: Terms) -> None:
    """Check the terms that must not have a default."""
    if not terms.codes and terms.colluding is None:
        allowed = "anyone can send answers; add the number of senders that may be a single party"
        raise UsageError.of("colluding", MISSING, allowed)
    same = urlsplit(terms.shuffler).hostname == urlsplit(terms.collector).hostname
    if same and not terms.local_only:
        allowed = (
            "should belong to another party than the collector; otherwise set local_only = true"
        )
        raise UsageError.of("shuffler", terms.shuffler, allowed)


def _wrong(error: ValidationError) -> IncrowdError:
    first = min(error.errors(), key=lambda each: each["type"] != MISSPELLED)
    field = place("", first["loc"]).lstrip(".")
    if first["type"] == "missing":
        return UsageError.of(field, MISSING, "add it to the file about the collection")
    if first["type"] == MISSPELLED:
        return UsageError.of(field, first["input"], known_keys(field, Terms.model_fields))
    return UsageError.of(field, first["input"], wording(first))
