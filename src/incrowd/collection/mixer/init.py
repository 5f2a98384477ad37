"""Make the bundle of a collection with one shuffler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.protocol.addresses import host
from incrowd.collection.protocol.bundle import Address, ShufflerBundle
from incrowd.collection.terms import Terms, bundle_of
from incrowd.errors import UsageError
from incrowd.plans import Guarantee, Plan
from incrowd.plans.slots import slots


class ShufflerTerms(Terms):
    """The terms of a collection with one shuffler.

    key_configuration: the output of `incrowd collector init`. colluding: required if there are no
    invitations. small_strata: by default as in the survey. shuffler, collector: addresses.
    """

    wanted: int | None = None
    small_strata: Literal["delete", "merge"] | None = None
    codes: bool
    local_only: bool = False
    shuffler: Address
    collector: Address
    key_configuration: str


@dataclass(frozen=True)
class NewBundle:
    """A bundle, the shuffler's private key for it, and its guarantee.

    guarantee: that of the plan, including the cost of redraws until all reports fit; the local
    guarantee if nothing else holds for this bundle.
    """

    bundle: ShufflerBundle
    private: Ed25519PrivateKey
    guarantee: Guarantee


def make_bundle(plan: Plan, terms: ShufflerTerms) -> NewBundle:
    """Return a bundle with a new signing key for a certified plan.

    Raises UsageError if the terms omit or contradict an assumption of the plan, and ProtocolError
    if the bundle is invalid.
    """
    _check(terms)
    private = Ed25519PrivateKey.generate()
    bundle = bundle_of(
        ShufflerBundle,
        plan,
        terms,
        slots=slots(plan),
        shuffler_key=private.public_key().public_bytes_raw().hex(),
        addresses={"shuffler": terms.shuffler, "collector": terms.collector},
        small_strata=terms.small_strata or plan.survey.small_strata,
    )
    from incrowd.collection.claims import bundle_guarantee  # slow to load; services do not need it

    return NewBundle(bundle, private, bundle_guarantee(bundle))


def _check(terms: ShufflerTerms) -> None:
    """Check the terms that must not have a default."""
    if not terms.codes and terms.colluding is None:
        raise UsageError.of("colluding", "collection.colluding-missing")
    same = host(terms.shuffler) == host(terms.collector)
    if same and not terms.local_only:
        raise UsageError.of("shuffler", "collection.one-party", value=terms.shuffler)
