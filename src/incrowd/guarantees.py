"""The one place that determines what a plan, a file, a release or a round guarantees, and to whom.

Everything that is printed, drawn, or written about a guarantee comes from this module, as codes and
numbers; `incrowd.presentation.sentences` has the sentences. No other module creates a `Guarantee`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import Literal, NamedTuple, Protocol

from incrowd.accountant.analyses import LOCAL, Analysis, analysis, plannable
from incrowd.accountant.certificates import Certificate, certify, redrawn, smallest_epsilon
from incrowd.accountant.codes import AssumptionCode
from incrowd.accountant.schema import AnyContribution
from incrowd.errors import PlanError, PlanFileError, PrivacyError
from incrowd.plans import EarlierPlan, Guarantee, Message, Plan
from incrowd.plans.claims import ClaimedRelease, Claims
from incrowd.plans.ledger import (
    Ledger,
    Permanent,
    Repeated,
    Rounds,
    Spent,
    all_rounds,
    permanent,
    repeated,
    repeats,
    rounds_before,
    rounds_planned,
    shows_responses,
)
from incrowd.plans.plan import (
    AskedIn,
    Assumption,
    Mixing,
    PlanAssumption,
    Reduction,
    smallest_crowd,
)
from incrowd.plans.sent import sent, sent_before, sent_by
from incrowd.survey import Survey

# A plan: what it promises, and whether its certificate supports that.


def planned(
    survey: Survey, messages: Sequence[Message], earlier: Sequence[EarlierPlan] = ()
) -> Guarantee:
    """Return the certified guarantee of some messages, by the analysis of their survey.

    earlier: earlier rounds with the same people, which the guarantee covers as well. Raises
    PrivacyError as `certify` does.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    crowd, everything = smallest_crowd(survey, earlier), sent(survey, messages, earlier)
    certificate = certify(by.name, everything, crowd, privacy.epsilon)
    rounds = [*rounds_before(earlier), rounds_planned(survey, messages)]
    delta = by.promised_delta(privacy.delta)
    return _guarantee(rounds, certificate, delta, crowd, everything.local_epsilon)


def analysis_of(plan: Plan) -> Analysis:
    """Return the analysis of a plan. Raises PlanFileError if the plan promises something else."""
    guarantee, privacy = plan.guarantee, plan.survey.privacy
    try:
        by = plannable(guarantee.analysis)
    except PrivacyError as error:
        problem = error.problems[0]
        field = "plan.guarantee.analysis"
        raise PlanFileError.of(field, guarantee.analysis, problem.allowed) from None
    for field, value, right in (
        ("proved", guarantee.proved, by.proved),
        ("delta", guarantee.delta, by.promised_delta(privacy.delta)),
    ):
        if value != right:
            allowed = f"should be {right} for the analysis {by.name}"
            raise PlanFileError.of(f"plan.guarantee.{field}", value, allowed)
    return by


def recertify(plan: Plan) -> Certificate:
    """Recompute the plan's certificate from its noise, copies and crowd.

    Raises PlanFileError as `analysis_of` does.
    """
    analysis_of(plan)
    guarantee = plan.guarantee
    return certify(guarantee.analysis, sent_by(plan), guarantee.crowd, guarantee.epsilon)


def keeps(plan: Plan, certificate: Certificate) -> bool:
    """Whether a recomputed certificate supports a plan's figures and the assumptions that it
    names."""
    promise = plan.guarantee
    return (
        certificate.delta.upper <= promise.delta * (1 + 1e-9)
        and certificate.delta.upper <= promise.certified_delta * (1 + 1e-6)
        and sent_by(plan).local_epsilon <= promise.local_epsilon * (1 + 1e-9)
        and promise.assumptions == assumptions(all_rounds(plan), certificate.assumption)
    )


def guarantee_for(plan: Plan, people: int) -> Guarantee:
    """Return the guarantee for each of `people`; the survey's `colluding` people hide no one.

    A larger crowd than planned changes nothing. For a smaller one delta stays and epsilon grows; if
    no crowd is left, or delta cannot be reached, the local guarantee remains. Raises PlanFileError
    as `analysis_of` does.
    """
    by, promise, crowd = analysis_of(plan), plan.guarantee, plan.survey.hidden(people)
    if crowd >= promise.crowd:
        return promise
    everything = sent_by(plan)
    local = everything.local_epsilon
    with suppress(PrivacyError):
        if by.shuffled:
            epsilon = smallest_epsilon(by.name, everything, crowd, promise.delta)
            if epsilon < local:
                certificate = certify(by.name, everything, crowd, epsilon)
                return _guarantee(all_rounds(plan), certificate, promise.delta, crowd, local)
    return local_guarantee(plan, crowd)


def local_guarantee(plan: Plan, crowd: int) -> Guarantee:
    """Return the guarantee without a shuffler, or if the shuffler also reads the reports."""
    everything = sent_by(plan)
    local = everything.local_epsilon
    certificate = certify(LOCAL.name, everything, 2, local)
    return _guarantee(all_rounds(plan), certificate, 0.0, max(crowd, 1), local)


def requested(survey: Survey, messages: Sequence[Message]) -> Guarantee:
    """Return what a survey requests, with the local epsilon of messages that nobody has certified.

    It is for previews: `proved` is False, so it is not a guarantee.
    """
    by, privacy = plannable(survey.privacy.analysis), survey.privacy
    everything, crowd = sent(survey, messages, ()), smallest_crowd(survey, ())
    local = everything.local_epsilon
    certificate = certify(LOCAL.name, everything, 2, local)
    delta = by.promised_delta(privacy.delta)
    shown = _guarantee([rounds_planned(survey, messages)], certificate, delta, crowd, local)
    changes = {"analysis": by.name, "epsilon": privacy.epsilon, "certified_delta": delta}
    return shown.model_copy(update={**changes, "proved": False})


def _guarantee(
    rounds: Sequence[Rounds], certificate: Certificate, delta: float, crowd: int, local: float
) -> Guarantee:
    return Guarantee(
        analysis=certificate.analysis,
        epsilon=certificate.epsilon,
        delta=delta,
        certified_delta=certificate.delta.upper,
        crowd=crowd,
        proved=certificate.proved,
        assumptions=assumptions(rounds, certificate.assumption),
        worst=certificate.worst,
        local_epsilon=local,
    )


# A collection: what holds for the people whose reports it contains, or will contain.


def guarantee_of(
    plan: Plan,
    people: int | None = None,
    claims: Iterable[Claims] = (),
    *,
    repeated: bool = False,
    contradicted: bool = False,
    seed: int | None = None,
) -> Guarantee:
    """Return what a plan guarantees, given how its reports were collected, or will be.

    people: the participants of the smallest crowd; None before anyone took part. claims: those of
    the bundles by which the reports were collected; empty if they did not come over a network.
    repeated: whether a device knows that it gave these permanent responses before. contradicted:
    whether the shuffler signed two releases of one stratum. seed: of simulated reports, which
    protect nobody; the result is what real reports would have.

    The result is the plan's own guarantee, or states the reasons in `reduced_by`; `mixed_by` says
    who could cheat. Drawing noise
    again for reports that do not fit into the slots of an upload (docs/protocol.md, "Slots") costs
    at most 1e-9 in epsilon and e^epsilon times as much in delta, which is included and is not a
    reason. Raises PlanFileError as `analysis_of` does.
    """
    claims, reasons = frozenset(claims), tuple[Reduction, ...]()
    promise = guarantee = plan.guarantee
    if analysis(promise.analysis).shuffled:
        crowd = promise.crowd if people is None else min(plan.survey.hidden(people), promise.crowd)
        again = repeated or (people is not None and shows_responses(plan, people))
        if reasons := tuple(_only_local(plan, claims, again, contradicted)):
            guarantee = local_guarantee(plan, crowd)
        elif people is not None and crowd < promise.crowd:
            guarantee, reasons = guarantee_for(plan, people), ("fewer-people",)
        if guarantee.epsilon <= promise.epsilon:  # the devices' own noise is enough
            reasons = ()
    if seed is not None:
        reasons = (*reasons, "simulation")
    tail, rounds = max((each.tail for each in claims), default=0.0), plan.survey.rounds
    named = not analysis(guarantee.analysis).shuffled
    hidden = (1 if named else guarantee.crowd) * rounds
    drawn = redrawn(guarantee.epsilon, guarantee.delta, tail=tail, crowd=hidden, named=named)
    alone = redrawn(guarantee.local_epsilon, 0.0, tail=tail, crowd=rounds, named=True)
    changes = {**drawn._asdict(), "local_epsilon": alone.epsilon, "reduced_by": reasons}
    changes["mixed_by"] = tuple(sorted({_mixing(plan, each) for each in claims}))
    return guarantee.model_copy(update=changes)


def _mixing(plan: Plan, claims: Claims) -> Mixing:
    if claims.mixers == 1:
        return "shuffler"
    cells = any(message.cells for message in plan.messages)
    return "two-mixers-of-cells" if cells else "two-mixers"


class CountedReports(Protocol):
    """Counted reports: a tally."""

    @property
    def releases(self) -> frozenset[ClaimedRelease]:
        """The releases that they came in, if they came over a network."""

    @property
    def seed(self) -> int | None:
        """The seed of a simulation, or None."""


class ReleaseReceipt(Protocol):
    """The receipt of a release."""

    @property
    def contradicted(self) -> bool:
        """Whether the shuffler signed another release of the same stratum as well."""


def counted_guarantee(
    plan: Plan, counted: CountedReports, people: int, received: Iterable[ReleaseReceipt] = ()
) -> Guarantee:
    """Return what holds for counted reports. people: of the smallest release of any message.
    received: the receipts of the releases."""
    claims = {release.claims for release in counted.releases}
    contradicted = any(each.contradicted for each in received)
    return guarantee_of(plan, people, claims, contradicted=contradicted, seed=counted.seed)


def _only_local(
    plan: Plan, claims: frozenset[Claims], repeated: bool, contradicted: bool
) -> Iterator[Reduction]:
    """Yield why only the local guarantee is left, whatever the crowd is."""
    yield from exposed_by(claims, contradicted)
    # No signature says that the same people were invited, so participation in rounds could be
    # matched with responses that stay the same. Releases of several bundles are several rounds.
    several = len({each.bundle for each in claims}) > 1
    if repeated or (claims and (repeats(plan) or (several and plan.memoized))):
        yield "permanent-responses"


class Mixed(Protocol):
    """What claims and receipts state about who mixed the reports; see `Claims`."""

    @property
    def local_only(self) -> bool:
        """Whether one party mixes and collects."""

    @property
    def thinned(self) -> bool:
        """Whether the collector's organization could pass on single reports of cells."""


def exposed_by(stated: Iterable[Mixed], contradicted: bool) -> tuple[Reduction, ...]:
    """Return why mixing does not protect reports, so that they count as if they carried names.

    A ledger charges them so, and for a collection only the local guarantee is left. contradicted:
    whether a mixer signed two different statements.
    """
    stated = tuple(stated)
    reasons: dict[Reduction, bool] = {
        "one-party": any(each.local_only for each in stated),
        "thinned-cells": any(each.thinned for each in stated),
        "contradicted": contradicted,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


# Against whom a participant is protected, and how well.

Service = Literal["inviter", "first mixer", "second mixer", "collector"]  # with two mixers
Party = Literal[
    "collector",
    "readers",
    "shuffler",
    "shuffler and collector",
    "inviter",
    "first mixer",
    "second mixer",
    "both mixers",
    "second mixer and collector",
    "first mixer and collector",
    "inviter and collector",
    "both mixers and collector",
]
Services = frozenset[Service]

MIXERS: Services = frozenset({"first mixer", "second mixer"})
EACH: tuple[Services, ...] = tuple(
    frozenset[Service]({service})
    for service in ("inviter", "first mixer", "second mixer", "collector")
)
_TOGETHER: dict[Party, Services] = {
    "collector": frozenset({"collector"}),
    "readers": frozenset(),
    "inviter": frozenset({"inviter"}),
    "first mixer": frozenset({"first mixer"}),
    "second mixer": frozenset({"second mixer"}),
    "both mixers": MIXERS,
    "second mixer and collector": frozenset({"second mixer", "collector"}),
    "first mixer and collector": frozenset({"first mixer", "collector"}),
    "inviter and collector": frozenset({"inviter", "collector"}),
    "both mixers and collector": MIXERS | {"collector"},
}


class Against(NamedTuple):
    """The most that one party can learn. proved: whether that is a guarantee."""

    epsilon: float
    delta: float
    proved: bool


class PartyLimits(NamedTuple):
    """The most that parties can learn about a person.

    afterwards: from everything that they recorded, if they followed the protocol. planned: if they
    deviated from it from the start; empty for a single shuffler, which has to be trusted not to.
    """

    afterwards: dict[Party, Against]
    planned: dict[Party, Against]


def against(guarantee: Guarantee) -> PartyLimits:
    """Return the most that each party can learn about a person, as the reports are mixed.

    If only the local guarantee holds, it holds against everybody.
    """
    kinds = guarantee.mixed_by
    limits = PartyLimits({}, {})
    if "shuffler" in kinds or not kinds:
        limits.afterwards.update(_against_shuffler(guarantee, sealed=bool(kinds)))
    for kind in kinds:  # one plan has cells or not, so that there is at most one such kind
        if kind != "shuffler":
            cells = kind == "two-mixers-of-cells"
            for parties, planned in ((limits.afterwards, False), (limits.planned, True)):
                parties.update(against_two_mixers(guarantee, cells=cells, planned=planned))
    return limits


def _against_shuffler(guarantee: Guarantee, *, sealed: bool) -> dict[Party, Against]:
    """Return the most that each party can learn about a person if it acts alone and honestly.

    collector: opens and counts the reports. readers: of the tables, or of published reports.
    shuffler: knows the senders; it cannot open sealed reports, and then learns what readers do. The
    last party is both together, who can link names and reports. sealed: whether the reports come
    over a network.
    """
    mixed, local = _limits(guarantee)
    return {
        "collector": mixed,
        "readers": mixed,
        "shuffler": mixed if sealed else local,
        "shuffler and collector": local,
    }


def against_two_mixers(guarantee: Guarantee, *, cells: bool, planned: bool) -> dict[Party, Against]:
    """Return the most that parties of a collection with two mixers can learn together.

    cells: whether messages are cells. planned: whether they deviate from the protocol from the
    start; otherwise, from their records afterwards.
    """
    mixed, local = _limits(guarantee)
    return {
        party: local if is_undone(services, cells=cells, planned=planned) else mixed
        for party, services in _TOGETHER.items()
    }


def is_undone(services: Services, *, cells: bool, planned: bool) -> bool:
    """Whether the parties that run some services can undo the mixing, and only the local guarantee
    is left against them. Everybody knows the results, which may contain all reports.

    Both mixers know which sealed report came from where, and the collector opens it. An inviter can
    invent the people that hide a person, and then subtracts their reports from the results. A first
    mixer can pass on single reports of many people: nothing is proved about such sets of cells. See
    docs/protocol.md, "Who could cheat".
    """
    linked = services >= MIXERS | {"collector"}
    return linked or (planned and ("inviter" in services or (cells and "first mixer" in services)))


def coalitions(
    organizations: Iterable[Services] = EACH, *, cells: bool, planned: bool
) -> tuple[tuple[Services, ...], ...]:
    """Return the smallest groups of organizations that can undo the mixing together.

    organizations: the services that each one runs; by default, each runs one.
    """
    each = tuple(organizations)
    groups = (group for size in range(len(each)) for group in combinations(each, size + 1))
    undoing: list[tuple[Services, ...]] = []
    for group in groups:  # the smallest ones first
        services = frozenset[Service]().union(*group)
        larger = any({*smaller} <= {*group} for smaller in undoing)
        if not larger and is_undone(services, cells=cells, planned=planned):
            undoing.append(group)
    return tuple(undoing)


def _limits(guarantee: Guarantee) -> tuple[Against, Against]:
    """Return the limits with mixing and without it; the same if the guarantee is a local one."""
    mixed = Against(guarantee.epsilon, guarantee.delta, guarantee.proved)
    local = Against(guarantee.local_epsilon, 0.0, True)
    return mixed, local if analysis(guarantee.analysis).shuffled else mixed


# What a guarantee assumes.


def assumptions(plans: Sequence[Rounds], by: AssumptionCode) -> tuple[Assumption, ...]:
    """Return what a guarantee assumes, by its analysis, the survey and the earlier rounds.

    plans: the rounds of each plan that the guarantee covers, its own rounds last.
    """
    return (Assumption(code=by), *_assumed(plans))


def _assumed(plans: Sequence[Rounds]) -> Iterator[Assumption]:
    *before, now = plans
    survey, repeating = now[0].survey, repeated(plans)
    if survey.rows_per_person > 1:
        yield Assumption(code="rows", number=survey.rows_per_person)
    if survey.rounds > 1:
        yield Assumption(code="rounds", number=survey.rounds)
    yield from _permanent(now, repeating.exposed)
    yield from _assumed_of(before, repeating)
    if survey.open:
        yield Assumption(code="open", questions=tuple(question.id for question in survey.open))


def _permanent(now: Rounds, exposed: frozenset[Permanent]) -> Iterator[Assumption]:
    """Yield what is assumed of a plan's own permanent responses. exposed: those that the difference
    of two releases can show."""
    survey, names = now[0].survey, _given([now])
    if names and not analysis(survey.privacy.analysis).shuffled:
        yield Assumption(code="permanent-same-answers", number=survey.rounds)
        return
    linked = tuple(name.question for name in names if name in exposed)
    others = tuple(name.question for name in names if name not in exposed)
    if linked:
        which = linked if others else ()
        yield Assumption(code="permanent-linked", number=survey.rounds, questions=which)
    if others and survey.open and survey.rounds == 1:
        yield Assumption(code="permanent-one-release")
    elif others:
        which = others if linked else ()
        yield Assumption(code="permanent-same-people", number=survey.rounds, questions=which)


def _assumed_of(before: Sequence[Rounds], repeating: Repeated) -> Iterator[Assumption]:
    """Yield what is assumed of the rounds that were carried out. repeating: the permanent responses
    that occur in several releases which the guarantee covers."""
    surveys, names = [rounds[0].survey for rounds in before], _given(before)
    hidden, exposed = repeating
    for rows in sorted({survey.rows_per_person for survey in surveys} - {1}):
        several = [(survey.name, ()) for survey in surveys if survey.rows_per_person == rows]
        yield Assumption(code="earlier-rows", number=rows, asked=_asked_in(several))
    groups: dict[PlanAssumption, frozenset[Permanent]] = {
        "earlier-permanent-one-release": frozenset(names) - hidden - exposed,
        "earlier-permanent-same-people": hidden,
        "earlier-permanent-linked": exposed,
    }
    for code, group in groups.items():
        if given := [(name.survey, (name.question,)) for name in names if name in group]:
            yield Assumption(code=code, asked=_asked_in(given))
    linked = [rounds[0].survey for rounds in before if any(release.linked for release in rounds)]
    if linked:
        asked = _asked_in((survey.name, ()) for survey in linked)
        yield Assumption(code="earlier-linked", asked=asked)
    if openly := [(s.name, tuple(question.id for question in s.open)) for s in surveys if s.open]:
        yield Assumption(code="earlier-open", asked=_asked_in(openly))


def _given(plans: Sequence[Rounds]) -> list[Permanent]:
    """Return the permanent responses that plans give, each once."""
    each = (
        permanent(rounds[0].survey, message) for rounds in plans for message in rounds[0].messages
    )
    return list(dict.fromkeys(chain.from_iterable(each)))


def _asked_in(asked: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[AskedIn, ...]:
    """Return each survey once, with all of its questions. asked: names and ids."""
    together: dict[str, tuple[str, ...]] = {}
    for name, ids in asked:
        together[name] = tuple(dict.fromkeys((*together.get(name, ()), *ids)))
    return tuple(AskedIn(survey=name, questions=ids) for name, ids in together.items())


# Rounds: how much of a guarantee a ledger has spent, and what is left.


def spent(ledger: Ledger, digest: str | None = None) -> Spent | None:
    """Return what a ledger has spent of the guarantee of its last plan, or of the plan with a
    digest.

    None if the plan is not in the ledger. A plan of one round has no round left.
    """
    rounds = [asked for asked in ledger.asked if digest in (None, asked.digest)]
    if not rounds:
        return None
    last = rounds[-1]
    privacy, done = last.survey.privacy, ledger.rounds_of(last.digest)
    crowd = smallest_crowd(last.survey, ledger.asked)
    epsilon = _epsilon(privacy.analysis, sent_before(ledger.asked), crowd, privacy.delta)
    left, carried_out = _left(ledger, last, crowd), rounds_before(ledger.asked)
    assumed = (
        Assumption(code=analysis(privacy.analysis).assumption),
        *_assumed_of(carried_out, repeated(carried_out)),
    )
    figures = epsilon, privacy.epsilon, privacy.delta
    return Spent(last.survey.name, done, last.survey.rounds, left, *figures, assumed)


def check_left(ledger: Ledger, plan: Plan) -> None:
    """Raises PlanError if the people of a ledger cannot be asked another round of a plan."""
    ledger.check_next(plan)
    rounds = spent(ledger, plan.digest)
    if rounds and not rounds.left:
        allowed = (
            f"after {rounds.done:,} of {rounds.rounds:,} rounds its guarantee covers no further "
            "round, since fewer or other people took part than planned, or mixing did not "
            "protect their reports; make a new plan with earlier=LEDGER and a larger epsilon"
        )
        raise PlanError.of("plan", plan.digest, allowed)


def _epsilon(by: str, everything: AnyContribution, crowd: int, delta: float) -> float:
    """Return the smallest epsilon at that delta; the local one if no crowd hides a person."""
    local = everything.local_epsilon
    if not analysis(by).shuffled or crowd < 2:
        return local
    try:
        return min(smallest_epsilon(by, everything, crowd, delta), local)
    except PrivacyError:  # no epsilon reaches that delta
        return local


def _left(ledger: Ledger, last: EarlierPlan, crowd: int) -> int:
    """Return how many more rounds the guarantee covers, with as many people as in the smallest
    round.

    All that were planned, unless one of its rounds was not as planned: fewer or other people took
    part, mixing did not protect the reports, or noise was drawn again.
    """
    privacy, to_come = last.survey.privacy, last.survey.rounds - ledger.rounds_of(last.digest)
    others = [asked for asked in ledger.asked if asked.digest != last.digest]

    def after(more: int) -> AnyContribution:
        return sent_before([*ledger.asked, *[last] * more])

    def is_kept(more: int) -> bool:
        certificate = certify(privacy.analysis, after(more), crowd, privacy.epsilon)
        return certificate.delta.upper <= privacy.delta

    as_promised = after(to_come) == sent(last.survey, last.messages, others)
    if as_promised and crowd >= smallest_crowd(last.survey, others):
        return to_come
    if (analysis(privacy.analysis).shuffled and crowd < 2) or not is_kept(0):
        return 0
    low, high = 0, to_come + 1  # low is kept, high is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low
