"""The quality of a plan's estimates in many trials, for people and programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from incrowd.guarantees.collected import guarantee_of
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.view import Numbers, View
from incrowd.views import with_and

if TYPE_CHECKING:
    from incrowd.estimation.quality import TableQuality
    from incrowd.simulation import Simulation

FIGURES = ("mean", "worst", "joint", "bias", "limit", "stated", "actual", "theory", "eff.")
SPREADS = ("mean_standard_error", "empirical_standard_error", "theoretical_standard_error")


def view(
    simulation: Simulation,
    simultaneous: str | None = None,
    weight_to: Sequence[str] = (),
    of_those_who_answered: bool = False,
) -> View:
    """The view of the trials. The other arguments: as for `incrowd.simulate`."""
    people = "people fixed" if simulation.fixed_people else "people drawn"
    weights = f", weighted to {with_and(weight_to)}" if weight_to else ""
    whose = ", of those who answered" if of_those_who_answered else ""
    title = f"{simulation.trials:,} trials, {people}{weights}{whose}, nominal coverage 95%"
    tables = list(map(_facts, simulation.tables))
    lines = tuple(("\n".join(each["questions"]), *_line(each)) for each in tables)
    facts = {
        "trials": simulation.trials,
        "fixed_people": simulation.fixed_people,
        "simultaneous": simultaneous,
        "weight_to": list(weight_to),
        "of_those_who_answered": of_those_who_answered,
        "plan": simulation.plan.digest,
        "guarantee": guarantee_facts(guarantee_of(simulation.plan, seed=simulation.seed)),
        "tables": tables,
    }
    survey = simulation.plan.survey
    return View(
        title=title,
        facts=finite(facts),
        seed=simulation.seed,
        legend=survey.legend(*(question.id for question in survey.questions)),
        tables=(Numbers(title, ("table", *FIGURES), lines, whole=FIGURES, spaces=1),),
        notes=(_explained(simulation.trials, simultaneous),),
    )


def _facts(quality: TableQuality) -> dict[str, Any]:
    """The figures of a table as JSON-ready data: means over the cells, and every cell.

    Standard errors are averaged as root mean squares.
    """
    limit = float(scipy.special.ndtri(1 - 0.025 / quality.bias.size)) * quality.bias_error
    spreads = ("mean_standard_error", "empirical_standard_error", "theoretical_error")
    arrays = ("coverage", "bias", "bias_error", *spreads)
    return {
        "questions": list(quality.questions),
        "coverage": float(quality.coverage.mean()),
        "worst_coverage": float(quality.coverage.min()),
        "joint_coverage": quality.joint_coverage,
        "simultaneous_coverage": quality.simultaneous_coverage,
        "max_abs_bias": float(np.abs(quality.bias).max()),
        "bias_limit": float(limit.max()),
        "unbiased": bool((np.abs(quality.bias) <= limit).all()),
        "mean_standard_error": _rms(quality.mean_standard_error),
        "empirical_standard_error": _rms(quality.empirical_standard_error),
        "theoretical_standard_error": _rms(quality.theoretical_error),
        "efficiency": quality.efficiency,
        "cells": {name: getattr(quality, name).ravel().tolist() for name in arrays},
    }


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _line(facts: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a table as text, in percent except the last; they fit into 80 columns."""
    at_once = facts["simultaneous_coverage"]
    joint = facts["joint_coverage"] if at_once is None else at_once
    for share in (facts["coverage"], facts["worst_coverage"], joint):
        yield f"{100 * share:.1f}"
    for name in ("max_abs_bias", "bias_limit", *SPREADS):
        yield _or_dash(100 * facts[name], ".3g")
    yield _or_dash(facts["efficiency"], ".2f")


def _or_dash(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _explained(trials: int, simultaneous: str | None) -> str:
    """Explain the figures. simultaneous: the method of simultaneous intervals."""
    accuracy = 100 * (0.95 * 0.05 / trials) ** 0.5
    by = f" by the {simultaneous} intervals" if simultaneous else ""
    return (
        "All in percent. mean, worst, joint: coverage of the cells on average, of the worst cell, "
        f"of all cells of a table at once{by}; each is accurate to ±{accuracy:.1f}. bias: the "
        "largest of any cell; a bias beyond its limit is significant (5% false alarms per table). "
        "stated, actual, theory: standard errors, root mean squares over the cells. eff.: "
        "theoretical over actual variance."
    )
