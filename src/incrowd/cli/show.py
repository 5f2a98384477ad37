"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from incrowd.cli.console import out, print_json, say
from incrowd.estimation.results import Estimates
from incrowd.plan import Plan
from incrowd.report import terminal
from incrowd.report.data import as_json
from incrowd.report.words import guarantee_sentence
from incrowd.workflow.simulate import Simulation, TableQuality
from incrowd.workflow.verify import Verification


def plan(made: Plan, json: bool) -> None:
    """What was planned."""
    facts = plan_facts(made)
    if json:
        print_json(facts)
        return
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(name, str(value))
    out.print(made.survey.name, style="bold", markup=False)
    out.print(grid)
    out.print(guarantee_sentence(made.guarantee), markup=False, highlight=False)


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
