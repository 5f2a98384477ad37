"""The facts in bundles and releases that a guarantee depends on, and the guarantee itself."""

from __future__ import annotations

import hashlib
from typing import Literal

from incrowd.collection.protocol.bundle import Bundle, MixersBundle, Role
from incrowd.collection.protocol.mixing import AnyRelease
from incrowd.collection.protocol.sealed import X_WING
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import Service
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import ClaimedRelease, Claims
from incrowd.plans.slots import separate, slots, slots_of_messages, tail
from incrowd.presentation.guarantee_text import TransportFacts


def claims_of(bundle: Bundle) -> Claims:
    """Return the facts that a bundle states."""
    return Claims(
        bundle=bundle.digest.hex(),
        codes=bundle.codes,
        colluding=bundle.colluding,
        mixers=bundle.mixers,
        local_only=bundle.one_party,
        thinned=bundle.thinned,
        places=bundle.places,
        tail=tail(bundle.plan, bundle.slots, bundle.pools),
    )


_SERVICES: dict[Service, Role] = {
    "inviter": "inviter",
    "first mixer": "first",
    "second mixer": "second",
    "collector": "collector",
}


def organizations_of(bundle: Bundle) -> dict[Service, str]:
    """Return the organization that runs each service, with two mixers; otherwise nothing.

    Names of one organization (`Runs.same`) become the same.
    """
    if not isinstance(bundle, MixersBundle):
        return {}
    runs, roles = bundle.runs, _SERVICES.values()
    return {
        service: next(getattr(runs, other) for other in roles if runs.same(role, other))
        for service, role in _SERVICES.items()
    }


def sealed_by(bundle: Bundle) -> TransportFacts:
    """Return what people are told about how their reports travel."""
    return TransportFacts(organizations_of(bundle), bundle.envelope_key.kem == X_WING)


def claims_of_plan(
    plan: Plan, mixers: Literal[1, 2] = 1, *, one_party: bool = False, thinned: bool = False
) -> Claims:
    """Return what a bundle for a plan will state.

    one_party: whether one party mixes and opens reports. thinned: as in a bundle.
    """
    places = slots(plan) if mixers == 1 else slots_of_messages(plan)
    pools = None if mixers == 1 else separate(plan.messages)
    return Claims(
        bundle="0" * 64,
        codes=mixers == 2,
        colluding=plan.survey.colluding,
        mixers=mixers,
        local_only=one_party,
        thinned=thinned,
        places=sum(places),
        tail=tail(plan, places, pools),
    )


def release_id(header: AnyRelease) -> bytes:
    """Return the digest of a release: of its header, whatever the bytes of the signature."""
    return hashlib.sha256(header.domain + header.encoded).digest()


def release_of(header: AnyRelease, bundle: Bundle, people: int) -> ClaimedRelease:
    """Return the facts of an opened release. people: the most people its reports can be from."""
    id = release_id(header).hex()
    return ClaimedRelease(claims=claims_of(bundle), id=id, strata=header.strata, people=people)


def bundle_guarantee(
    bundle: Bundle, people: int | None = None, *, repeated: bool = False, contradicted: bool = False
) -> Guarantee:
    """Return the guarantee for people who answer a collection; arguments as for `guarantee_of`."""
    claims = [claims_of(bundle)]
    return guarantee_of(bundle.plan, people, claims, repeated=repeated, contradicted=contradicted)
