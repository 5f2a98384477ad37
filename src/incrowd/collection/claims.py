"""What bundles and releases state that a guarantee depends on, and the guarantee itself."""

from __future__ import annotations

import hashlib

from incrowd.collection.wire.bundle import Bundle
from incrowd.collection.wire.release import DOMAIN, Header
from incrowd.guarantees import guarantee_of
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import Claims, Release
from incrowd.plans.slots import slots, tail


def claims_of(bundle: Bundle) -> Claims:
    """What a bundle states."""
    return Claims(
        bundle=bundle.digest.hex(),
        codes=bundle.codes,
        colluding=bundle.colluding,
        local_only=bundle.local_only,
        places=bundle.places,
        tail=tail(bundle.plan, bundle.slots),
    )


def claims_of_plan(plan: Plan) -> Claims:
    """What a bundle for a plan will state if different parties mix and open; not yet which."""
    places = slots(plan)
    return Claims(
        bundle="0" * 64,
        codes=False,
        colluding=plan.survey.colluding,
        local_only=False,
        places=sum(places),
        tail=tail(plan, places),
    )


def release_of(header: Header, bundle: Bundle, people: int) -> Release:
    """What is known of a release once it is opened. people: whose reports it holds, at most."""
    id = hashlib.sha256(DOMAIN + header.encoded).hexdigest()
    return Release(claims=claims_of(bundle), id=id, strata=header.strata, people=people)


def bundle_guarantee(
    bundle: Bundle, people: int | None = None, *, repeated: bool = False, contradicted: bool = False
) -> Guarantee:
    """What holds for whoever answers a collection. The arguments are those of `guarantee_of`."""
    claims = [claims_of(bundle)]
    return guarantee_of(bundle.plan, people, claims, repeated=repeated, contradicted=contradicted)
