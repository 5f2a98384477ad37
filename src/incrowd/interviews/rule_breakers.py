"""Matrices of items whose carriers may lie, or where some people do not follow the device.

Every model is a set of matrices again, with an unknown probability or with one more class of
people, so that estimates and regressions need no formulas of their own. In a class of people who
break the rules, the report says nothing about the true answer.

"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incrowd.interviews.items import ItemMatrices
from incrowd.interviews.report_fit import ReportLaw

HONESTY = "honesty"  # the name of the unknown probability in the stochastic lie detector
NO, YES = 0, 1


def with_lies(matrices: ItemMatrices) -> ItemMatrices:
    """Return the matrices of the stochastic lie detector, for an item with the answers no and yes.

    People without the trait follow the device. Carriers report "yes" with an unknown probability,
    their honesty, whatever the device says (Moshagen, Musch, and Erdfelder 2012). Groups that are
    asked directly keep their matrix: what is estimated there is the share that says "yes".
    """
    groups = matrices.groups
    direct = (matrices.base == np.eye(2)).all(axis=(1, 2))
    fixed = matrices.base.copy()
    fixed[~direct, :, YES] = (1.0, 0.0)
    lies = np.zeros((1, groups, 2, 2))
    lies[0, ~direct, :, YES] = (-1.0, 1.0)
    earlier = _unknowns(matrices).copy()
    earlier[:, ~direct, :, YES] = 0.0
    return ItemMatrices(fixed, np.concatenate([earlier, lies]), (*matrices.names, HONESTY))


def with_class(matrices: ItemMatrices, reports: np.ndarray) -> ItemMatrices:
    """Return the matrices with one more class of people, whose reports have one distribution.

    reports: shape (reports,), such as (1, 0) for people who always say "no", or (1/2, 1/2) for
    people who answer without reading.
    """
    column = np.broadcast_to(reports[:, None], (matrices.groups, len(reports), 1))
    unknown = _unknowns(matrices)
    none = np.zeros((*unknown.shape[:3], 1))
    return replace(
        matrices,
        base=np.concatenate([matrices.base, column], axis=2),
        unknown=np.concatenate([unknown, none], axis=3),
    )


def with_anchor(item: ItemMatrices, anchor: ItemMatrices, answer: int) -> ItemMatrices:
    """Return the matrices of an item followed by those of an anchor, as further groups.

    Both must have the same groups and the class of people who answer at random. answer: everyone's
    true answer to the anchor, so that its reports tell only how many people answer at random.
    """
    truth = np.repeat(anchor.base[:, :, [answer]], item.answers - 1, axis=2)
    fixed = np.concatenate([truth, anchor.base[:, :, [-1]]], axis=2)
    return ItemMatrices(np.concatenate([item.base, fixed]))


def shares_law(matrices: ItemMatrices) -> ReportLaw:
    """Return the law of the reports of an item with the answers no and yes.

    Its parameters are the share of "yes" among those who follow the rules, the share of those who
    do not if the matrices have that class, and the unknown probabilities.
    """
    others = matrices.answers == 3
    unknown = _unknowns(matrices)

    def law(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share, class_share = parameters[0], parameters[1] if others else 0.0
        each = matrices.at(parameters[1 + others :])
        honest = each[:, :, NO] * (1 - share) + each[:, :, YES] * share
        slopes = [(1 - class_share) * (each[:, :, YES] - each[:, :, NO])]
        probabilities = honest * (1 - class_share)
        classes = [(1 - class_share) * (1 - share), (1 - class_share) * share]
        if others:
            probabilities = probabilities + class_share * each[:, :, 2]
            slopes.append(each[:, :, 2] - honest)
            classes.append(class_share)
        slopes.extend(unknown @ np.array(classes))
        return probabilities, np.array(slopes)

    return law


def _unknowns(matrices: ItemMatrices) -> np.ndarray:
    """Return the slopes of the unknown probabilities, with the full shape where there are none."""
    if matrices.names:
        return matrices.unknown
    return np.zeros((0, *matrices.base.shape))
