"""What it costs that devices draw again until their reports fit into the slots of an upload."""

from __future__ import annotations

import math
from typing import NamedTuple

from incrowd.accounting.analyses import Analysis
from incrowd.accounting.schema import Sent
from incrowd.errors import PrivacyError


class Redrawn(NamedTuple):
    """(epsilon, delta) of reports that were drawn again where they did not fit."""

    epsilon: float
    delta: float


def redrawn(epsilon: float, delta: float, *, tail: float, crowd: int) -> Redrawn:
    """(epsilon - N ln(1 - t), delta (1 - t)^-N): the guarantee given that everybody's fits.

    epsilon, delta: of the reports as drawn the first time. tail: at most the chance t that one
    person's do not fit, whatever she answers. crowd: the people N that the guarantee counts on;
    others are as good as known, and cost nothing. At t = 0 nothing changes.

    Proof. Let P and Q be the laws of the reports of N people in two collections that differ in
    one person's answers, F the event that everybody's fit: P(F) and Q(F) are at least (1 - t)^N.
    Then P(S | F) <= (1 - t)^-N P(S and F) <= (1 - t)^-N (e^epsilon Q(S and F) + delta), and
    Q(S and F) <= Q(S | F).

    Raises PrivacyError unless 0 <= tail < 1 and crowd is at least 1.
    """
    if not 0 <= tail < 1:
        raise PrivacyError.of("tail", tail, "should be at least 0 and below 1")
    if crowd < 1:
        raise PrivacyError.of("crowd", crowd, "should be at least 1")
    cost = -crowd * math.log1p(-tail)
    return Redrawn(epsilon + cost, min(1.0, delta * math.exp(min(cost, 700.0))))


def redraw_cost(by: Analysis, sent: Sent, crowd: int) -> float:
    """What the redraws of earlier rounds add to epsilon, and to ln delta: -N ln(1 - t) for each.

    N is the crowd of an analysis that counts on one; `local` charges a person's own redraws itself.
    Each round is conditioned by itself, and the rounds are independent, so that the costs add up.
    """
    return sent.redraws * crowd if by.shuffled else 0.0
