"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from rich.table import Table

from incrowd.cli.console import out, print_json, say
from incrowd.estimation.results import Estimates
from incrowd.plan import Plan
from incrowd.report import terminal
from incrowd.report.data import as_json
from incrowd.report.words import guarantee_sentence, simulation_warning
from incrowd.workflow.compare import TwoWay
from incrowd.workflow.forecast import TableForecast, forecast
from incrowd.workflow.simulate import Simulation, TableQuality
from incrowd.workflow.verify import Verification


def plan(made: Plan, json: bool) -> None:
    """What was planned."""
    facts, expected = plan_facts(made), forecast(made)
    if json:
        print_json(facts | {"tables": [_forecast_facts(table) for table in expected]})
        return
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(name, str(value))
    out.print(made.survey.name, style="bold", markup=False)
    out.print(grid)
    out.print(guarantee_sentence(made.guarantee), markup=False, highlight=False)
    table = Table(title=f"what {made.survey.crowd:,} people will tell, if all answers are alike")
    for name in ("table", "standard error", "as good as, asked openly"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for item in expected:
        people = f"{item.as_good_as:,.0f} people"
        table.add_row(", ".join(item.questions), f"{item.standard_error:.2%}", people)
    out.print(table)


def _forecast_facts(item: TableForecast) -> dict[str, Any]:
    return {
        "questions": list(item.questions),
        "standard_error": item.standard_error,
        "as_good_as": item.as_good_as,
    }


def plan_facts(made: Plan) -> dict[str, Any]:
    """A plan of one message in a few numbers."""
    message = made.messages[0]
    questions = [made.survey.question(id) for id in message.questions]
    return {
        "noise": message.channel.q,
        "noise_numerator": message.noise_numerator,
        "bits": made.bits(message),
        "distance": sum(question.domain.distance for question in questions),
        "copies": message.copies,
        "crowd": made.guarantee.crowd,
        "epsilon": made.guarantee.epsilon,
        "delta": made.guarantee.delta,
        "analysis": made.guarantee.analysis,
        "digest": made.digest,
    }


def estimates(found: Estimates, json: bool) -> None:
    """The tables."""
    if json:
        print_json(as_json(found))
    else:
        out.print(terminal.terminal(found))


def comparison(found: TwoWay, json: bool) -> None:
    """What two questions have to do with each other."""
    if json:
        data = dataclasses.asdict(found) | {"guarantee": found.guarantee.model_dump()}
        print_json(_without_nan(data))
        return
    say(guarantee_sentence(found.guarantee))
    if found.seed is not None:
        say(simulation_warning(found.seed))
    test = found.independence
    if test.estimable:
        chi = f"chi-square {test.statistic:.4g} on {test.degrees_of_freedom} degrees of freedom"
        out.print(f"independence: {chi}, p = {test.p_value:.3g}", markup=False, highlight=False)
    else:
        say(f"independence: not estimable: {test.reason}")
    table = Table(title=f"{found.questions[1]} by {found.questions[0]}, 95% intervals")
    for name in ("figure", "estimate", "95% interval"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    v = (found.cramers_v,) if found.cramers_v else ()
    for item in (*v, *found.shares, *found.differences, *found.odds_ratios):
        shown = (f"{item.estimate:.4f}", f"{item.low:.4f} to {item.high:.4f}")
        table.add_row(item.name, *(shown if item.estimable else ("not estimable", "")))
    out.print(table)
    reasons = {item.reason for item in (*v, *found.shares) if not item.estimable}
    for reason in sorted(reasons):
        say(f"not estimable: {reason}")


def _without_nan(value: Any) -> Any:
    """JSON has no nan (null here), and no numbers of numpy."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and value != value else value


def verification(made: Plan, found: Verification, json: bool) -> None:
    """Whether a plan holds, and whether reports can come from it."""
    certificate, promised = found.certificate, made.guarantee
    if json:
        print_json(
            {
                "holds": found.holds,
                "plan_holds": found.plan_holds,
                "analysis": certificate.analysis,
                "epsilon": certificate.epsilon,
                "delta": float(certificate.delta.upper),
                "promised_delta": promised.delta,
                "crowd": promised.crowd,
                "guarantee": certificate.proved,
                "assumption": certificate.assumption,
                "digest": made.digest,
                "reports": found.reports,
                "missing_people": found.missing,
                "impossible_bits": None if found.impossible is None else list(found.impossible),
            }
        )
        return
    verdict = "holds" if found.plan_holds else "DOES NOT HOLD"
    say(
        f"the plan {verdict}: {certificate.analysis}, epsilon {certificate.epsilon:.6g}, "
        f"delta {certificate.delta.upper:.6g} (promised {promised.delta:.6g}), "
        f"crowd {promised.crowd:,}"
    )
    say(guarantee_sentence(promised))
    if found.impossible is not None:
        for bit, rate in found.impossible:
            say(f"bit {bit}: set in {rate:.4%} of the reports, which the noise cannot give")
        fit = "cannot come from" if found.impossible else "can come from"
        say(f"the {found.reports:,} reports {fit} this plan")
    if found.missing:
        say(f"{found.missing:,} people are missing: the promise does not hold for this crowd")


def simulation(result: Simulation, json: bool) -> None:
    """How good the estimates were."""
    if json:
        print_json(simulation_facts(result))
        return
    people = "people fixed" if result.fixed_people else "people drawn"
    table = Table(title=f"{result.trials:,} trials, {people}, nominal coverage 95%")
    for name in ("table", "coverage", "largest bias", "standard error: stated", "found"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for quality in result.tables:
        facts = _quality(quality)
        table.add_row(
            ", ".join(quality.questions),
            f"{facts['coverage']:.1%}",
            f"{facts['max_abs_bias']:.5f}",
            f"{facts['mean_standard_error']:.5f}",
            f"{facts['empirical_standard_error']:.5f}",
        )
    out.print(table)
    say("coverage and errors are means over the cells of a table")


def simulation_facts(result: Simulation) -> dict[str, Any]:
    """A simulation as JSON-ready data."""
    return {
        "trials": result.trials,
        "fixed_people": result.fixed_people,
        "plan": result.plan.digest,
        "tables": [_quality(quality) for quality in result.tables],
    }


def _quality(quality: TableQuality) -> dict[str, Any]:
    """Means over the cells (errors: root mean square), and every cell."""
    return {
        "questions": list(quality.questions),
        "coverage": float(quality.coverage.mean()),
        "max_abs_bias": float(np.abs(quality.bias).max()),
        "mean_standard_error": _rms(quality.mean_standard_error),
        "empirical_standard_error": _rms(quality.empirical_standard_error),
        "cells": {
            "coverage": quality.coverage.ravel().tolist(),
            "bias": quality.bias.ravel().tolist(),
            "mean_standard_error": quality.mean_standard_error.ravel().tolist(),
            "empirical_standard_error": quality.empirical_standard_error.ravel().tolist(),
        },
    }


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
