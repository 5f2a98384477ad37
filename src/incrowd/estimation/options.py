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
    from incrowd.plans import Plan
    from incrowd.survey.merging import Merge


class ReportOptions(TypedDict, total=False):
    """Options of all methods that read reports.

    Parameters
    ----------
    merge : mapping of str to groups of answers, optional
        For each question, answers that are treated as one: {"health": {"good": ["very good",
        "good"]}}.
    accept_smaller_crowd : bool
        Whether to accept fewer people than planned, and to compute the guarantee again for them.
    received : sequence of Received
        The receipts of reports that came over a network. The guarantee, and the influence of a
        malicious sender, depend on them.
    """

    merge: Merge | None
    accept_smaller_crowd: bool
    received: Sequence[Received]


class ErrorOptions(ReportOptions, total=False):
    """Options of methods that compute errors.

    Parameters
    ----------
    noise_only : bool
        Whether errors are those of the noise alone, with the people fixed. By default, they are
        those of noise and sampling, unless the survey is a census.
    """

    noise_only: bool


def without_sampling(plan: Plan, options: ErrorOptions) -> bool:
    """Return whether errors are those of the noise alone."""
    return options.get("noise_only", False) or plan.survey.census


class WeightedOptions(ErrorOptions, total=False):
    """Options of methods whose figures can be weighted.

    Parameters
    ----------
    margins : mapping, optional
        What is known about all people: for each question (or several, such as "faculty | sex") the
        share or number of people with each answer. All figures are weighted to these margins.
    """

    margins: GivenMargins | None
