"""Items whose carriers may lie, and items that some people answer without following the device.

Each model gives the item other matrices: with an unknown probability, or with one more class of
people. Estimates and regressions of these items then need no formulas of their own.

Proof: docs/interviews-mathematics.md#people-who-do-not-follow-the-rules.
"""

from __future__ import annotations

import numpy as np

from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem

HONESTY, ATTENTION = "honesty", "attention"  # names of unknown probabilities
NO, YES = 0, 1


def asked_directly(matrices: ItemMatrices) -> np.ndarray:
    """Return which groups report their true answers: bool, shape (groups,)."""
    if matrices.reports != matrices.answers:
        return np.zeros(matrices.groups, bool)
    fixed = (matrices.unknown == 0).all(axis=(0, 2, 3))
    return np.asarray(fixed & (matrices.base == np.eye(matrices.answers)).all(axis=(1, 2)))


def randomized(item: ReportedItem) -> ReportedItem:
    """Return an item without the reports of people who were asked directly."""
    directly = asked_directly(item.matrices)[item.group]
    return ReportedItem(np.where(directly, MISSING, item.reported), item.group, item.matrices)


def with_lies(matrices: ItemMatrices) -> ItemMatrices:
    """Return the matrices of the stochastic lie detector, for an item with the answers no and yes.

    People without the trait follow the device. Carriers report "yes" with an unknown probability,
    their honesty, whatever the device says (Moshagen, Musch, and Erdfelder 2012). Groups that are
    asked directly keep their matrix: what is estimated there is the share that says "yes".
    """
    device = ~asked_directly(matrices)
    base, unknown = matrices.base.copy(), _unknowns(matrices).copy()
    base[device, :, YES] = (1.0, 0.0)
    unknown[:, device, :, YES] = 0.0
    lies = np.zeros((1, *base.shape))
    lies[0, device, :, YES] = (-1.0, 1.0)
    return ItemMatrices(base, np.concatenate([unknown, lies]), (*matrices.names, HONESTY))


def with_class(matrices: ItemMatrices, reports: np.ndarray) -> ItemMatrices:
    """Return the matrices with one more class of people, whose reports have one distribution.

    reports: shape (reports,), such as (1, 0) for cheaters, who always say "no" (Clark and
    Desharnais 1998). The class is the last true answer.
    """
    column = np.broadcast_to(reports[:, None], (matrices.groups, len(reports), 1))
    unknown = _unknowns(matrices)
    return ItemMatrices(
        np.concatenate([matrices.base, column], axis=2),
        np.concatenate([unknown, np.zeros((*unknown.shape[:3], 1))], axis=3),
        matrices.names,
    )


def with_inattention(matrices: ItemMatrices) -> ItemMatrices:
    """Return the matrices of people who follow the device with an unknown probability.

    All others choose one of the reports at random, all with the same probability. One item alone
    does not determine the probability; an anchor does. The given matrices must have no unknown
    probability: the product of two would not be linear.
    """
    guesses = np.broadcast_to(at_random(matrices), matrices.base.shape)
    return ItemMatrices(guesses, (matrices.base - guesses)[None], (ATTENTION,))


def at_random(matrices: ItemMatrices) -> np.ndarray:
    """Return the probabilities of reports chosen at random, shape (groups, reports, 1).

    Reports that no answer can give in a group have the probability 0.
    """
    possible = matrices.base.max(axis=2, keepdims=True) > 0
    return np.asarray(possible / possible.sum(axis=1, keepdims=True))


def with_anchor(item: ReportedItem, anchor: ReportedItem, answer: int) -> ReportedItem:
    """Return an item followed by its anchor, in twice as many rows (Atsusaka and Stevenson 2023).

    The anchor has the same true answer for everybody, so that its reports show how many people do
    not follow the device. Its groups follow those of the item, and its rows are not independent of
    the item's: both rows of an interview belong to one cluster.

    answer: everybody's true answer to the anchor.
    """
    truth = np.repeat(anchor.matrices.base[:, :, [answer]], item.matrices.answers, axis=2)
    first, second = with_inattention(item.matrices), with_inattention(ItemMatrices(truth))
    complete = (item.reported != MISSING) & (anchor.reported != MISSING)
    reported = np.concatenate([item.reported, anchor.reported])
    return ReportedItem(
        np.where(np.tile(complete, 2), reported, MISSING),
        np.concatenate([item.group, first.groups + anchor.group]),
        ItemMatrices(
            np.concatenate([first.base, second.base]),
            np.concatenate([first.unknown, second.unknown], axis=1),
            first.names,
        ),
    )


def _unknowns(matrices: ItemMatrices) -> np.ndarray:
    """Return the slopes of the unknown probabilities, with the full shape where there are none."""
    if matrices.names:
        return matrices.unknown
    return np.zeros((0, *matrices.base.shape))
