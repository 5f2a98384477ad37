"""The options that statistical methods share, stated once.

A method takes them as `**options: Unpack[...]`; the public functions show each one by its name. An
option that is left out is False, None, or an empty tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from incrowd.estimation.receipts import Received
    from incrowd.estimation.weighting.known_margins import GivenMargins
    from incrowd.survey.merging import Merge


class ReportOptions(TypedDict, total=False):
    """Options of every method that reads reports.

    merge: for each question, groups of answers that are treated as one. accept_smaller_crowd:
    accept fewer people than planned, and compute the guarantee again. received: the receipts of
    reports that came over a network; the guarantee and the influence of a malicious sender depend
    on them.
    """

    merge: Merge | None
    accept_smaller_crowd: bool
    received: Sequence[Received]


class ErrorOptions(ReportOptions, total=False):
    """Options of methods that give errors.

    noise_only: errors of the noise alone, with the people fixed; otherwise of noise and sampling.
    """

    noise_only: bool


class WeightedOptions(ErrorOptions, total=False):
    """Options of methods whose figures can be weighted.

    margins: what is known about all people: for each question (or several, such as "faculty | sex")
    the share or number of people with each answer; all figures are weighted to these.
    """

    margins: GivenMargins | None
