"""Words and cells under weights: of no person a report tells what else she answered.

Margins of open questions give everybody in a release the same weight, so that what the releases
say is averaged. Proof: docs/weighting.md#words-and-cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incrowd.estimation.readings import Ids
from incrowd.estimation.tables import TableEstimate, averaged, changed
from incrowd.estimation.word_shares import Part, WordEstimates, estimate_weighted_words
from incrowd.planner.margins import Known
from incrowd.planner.open_tables import table
from incrowd.planner.sources import sharpest
from incrowd.planner.weighted_people import People
from incrowd.plans import Plan
from incrowd.plans.strata import label
from incrowd.tally.tally import Tally


def release_shares(
    plan: Plan, counted: Tally, known: Sequence[Known]
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted share of the people who are in each release, and the covariance of these.

    known: margins of open questions. A margin that tells the releases apart is what the shares
    are, without error. Raises TableError for margins that do not fit the releases.
    """
    people = People(plan, counted, ())
    groups = {label(names): [names] for names in people.releases}
    found, _ = people.table((), known, groups)
    return found.estimate[:-1], found.joint_covariance[:-1, :-1]


def weighted_options(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    known: Sequence[Known],
    noise_only: bool = False,
    places: int = 0,
) -> TableEstimate:
    """The table of a question that is sent as cells. Raises TableError as
    `release_shares`."""
    weights, drift = release_shares(plan, counted, known)
    parts = [
        table(plan, counted.only([names]), ids, noise_only, places) for names in counted.strata
    ]
    own = table(plan, counted, ids, noise_only, places)
    made = averaged(parts, weights, drift, own)
    return changed(made, own, tuple(each.name for each in known), False, made.influence)


def weighted_words(
    plan: Plan,
    counted: Tally,
    id: str,
    candidates: Sequence[str],
    places: np.ndarray,
    known: Sequence[Known],
) -> WordEstimates:
    """The share of each candidate among the answers to a text question. places: as
    `estimate_words` has them. Raises TableError as it, and as `release_shares`."""
    weights, drift = release_shares(plan, counted, known)
    read = [sharpest(plan, counted.only([names]), (id,)) for names in counted.strata]
    parts = [Part(w, found.counts) for w, found in zip(weights, read, strict=True)]
    message = read[0].message
    inverse = message.channels[id].inverse
    made = estimate_weighted_words(candidates, places, parts, drift, inverse, message.copies)
    return replace(made, weighted_to=tuple(each.name for each in known))
