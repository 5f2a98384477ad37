"""Make the bundle of a collection with two mixers, and the inviter's keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel, ConfigDict

from incrowd.collection.inviter.signing import PrivateTokenKey, key_roots, new_token_key
from incrowd.collection.machine import cores
from incrowd.collection.protocol.bundle import (
    CollectorParty,
    FirstMixer,
    MixersBundle,
    Runs,
    SecondMixer,
)
from incrowd.collection.terms import Terms, bundle_of
from incrowd.plans import Guarantee, Plan
from incrowd.plans.slots import slots_of_messages


class InviterAddress(BaseModel):
    """The inviter's address; its keys are new."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str


class MixersTerms(Terms):
    """The terms of a collection with two mixers.

    first, second, collector: addresses and public keys, as printed by the `init` command of each
    service. runs: the organization that runs each service.
    """

    runs: Runs
    inviter: InviterAddress
    first: FirstMixer
    second: SecondMixer
    collector: CollectorParty


@dataclass(frozen=True)
class InviterKeys:
    """The inviter's private keys for one bundle.

    signing: the signing of its statement. tokens: the tokens of the entry, then of each message.
    """

    signing: Ed25519PrivateKey = field(repr=False)
    tokens: tuple[PrivateTokenKey, ...] = field(repr=False)


@dataclass(frozen=True)
class NewMixersBundle:
    """A bundle, the inviter's private keys for it, and its guarantee.

    guarantee: that of the plan, including the cost of redraws until all reports fit; the local
    guarantee if nothing else holds for this bundle.
    """

    bundle: MixersBundle
    keys: InviterKeys
    guarantee: Guarantee


def make_mixers_bundle(plan: Plan, terms: MixersTerms) -> NewMixersBundle:
    """Return a bundle with new keys of the inviter for a certified plan.

    Raises UsageError if the terms omit or contradict an assumption of the plan, and ProtocolError
    if the bundle is invalid.
    """
    with ThreadPoolExecutor(cores()) as pool:
        created = list(pool.map(lambda _: _token_key(), range(1 + len(plan.messages))))
    signing = Ed25519PrivateKey.generate()
    entry, *messages = (text for _, text in created)
    bundle = bundle_of(
        MixersBundle,
        plan,
        terms,
        slots=slots_of_messages(plan),
        codes=True,
        small_strata="delete",
        inviter={
            "address": terms.inviter.address,
            "key": signing.public_key().public_bytes_raw().hex(),
            "entry": entry,
            "messages": messages,
        },
    )
    from incrowd.collection.claims import bundle_guarantee  # slow to load; services do not need it

    keys = InviterKeys(signing, tuple(private for private, _ in created))
    return NewMixersBundle(bundle, keys, bundle_guarantee(bundle))


def _token_key() -> tuple[PrivateTokenKey, dict[str, object]]:
    """Return a new key of tokens, and what the bundle states of it."""
    private = new_token_key()
    roots = [root.hex() for root in key_roots(private)]
    return private, {"modulus": private.public.encoded.hex(), "roots": roots}
