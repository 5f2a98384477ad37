"""What stands in a ledger has spent, and how many rounds of its last plan are left."""

from __future__ import annotations

from incrowd.accounting.analyses import analysis
from incrowd.accounting.calibration import smallest_epsilon
from incrowd.accounting.certificates import certify
from incrowd.accounting.schema import AnySent
from incrowd.errors import PlanError, PrivacyError
from incrowd.planner.sent import sent, sent_before
from incrowd.plans import Asked, Plan
from incrowd.plans.ledger import Ledger
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.rounds import Spent


def spent(known: Ledger, digest: str | None = None) -> Spent | None:
    """All that stands in a ledger, by the promise of its last plan, or of one that is named.

    None if that is not there. Of a plan of one round nothing is left.
    """
    found = [asked for asked in known.asked if digest in (None, asked.digest)]
    if not found:
        return None
    last = found[-1]
    privacy, done = last.survey.privacy, known.rounds_of(last.digest)
    crowd = smallest_crowd(last.survey, known.asked)
    everything = sent_before(known.asked)
    epsilon = _epsilon(privacy.analysis, everything, crowd, privacy.delta)
    left = _left(known, last, crowd)
    return Spent(
        last.survey.name, done, last.survey.rounds, left, epsilon, privacy.epsilon, privacy.delta
    )


def check_left(known: Ledger, plan: Plan) -> None:
    """Raises PlanError if the people of a ledger cannot be asked another round of a plan."""
    known.check_next(plan)
    found = spent(known, plan.digest)
    if found and not found.left:
        allowed = (
            f"after {found.done:,} of {found.rounds:,} rounds nothing is left of its promise, "
            "since fewer or other people came than planned, or nobody mixed their reports; plan "
            "anew with earlier=LEDGER and more epsilon"
        )
        raise PlanError.of("plan", plan.digest, allowed)


def _epsilon(by: str, everything: AnySent, crowd: int, delta: float) -> float:
    """The smallest epsilon at that delta; the local one if nobody hides."""
    local = everything.local_epsilon
    if not analysis(by).shuffled or crowd < 2:
        return local
    try:
        return min(smallest_epsilon(by, everything, crowd, delta), local)
    except PrivacyError:  # no epsilon reaches that delta
        return local


def _left(known: Ledger, last: Asked, crowd: int) -> int:
    """How many more rounds keep the promise, if as many people come as in the smallest so far.

    All that were planned, unless a round of its own was not as the promise has it: fewer or other
    people came, nobody mixed, or noise was drawn again.
    """
    privacy, planned = last.survey.privacy, last.survey.rounds - known.rounds_of(last.digest)
    others = [asked for asked in known.asked if asked.digest != last.digest]

    def after(more: int) -> AnySent:
        return sent_before([*known.asked, *[last] * more])

    def kept(more: int) -> bool:
        found = certify(privacy.analysis, after(more), crowd, privacy.epsilon).delta.upper
        return found <= privacy.delta

    as_promised = after(planned) == sent(last.survey, last.messages, others)
    if as_promised and crowd >= smallest_crowd(last.survey, others):
        return planned
    if (analysis(privacy.analysis).shuffled and crowd < 2) or not kept(0):
        return 0
    low, high = 0, planned + 1  # low is kept, high is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low
