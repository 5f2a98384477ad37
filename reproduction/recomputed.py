"""All rows of the five papers, recomputed section by section."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reproduction.row import Row
from reproduction.rows import (
    appendix_two,
    february_2016,
    february_2016_one_bit,
    january_2016_copies,
    january_2016_example,
    january_2016_ratio,
    january_2016_sixteen,
    january_2016_vectors,
    lemmas,
    maximality,
    note,
    subsets,
    sufficient_dp,
    sufficient_dp_bound,
    sufficient_dp_choices,
    sufficient_dp_copies,
    sufficient_dp_moments,
    sufficient_dp_precision,
    sufficient_dp_table,
    vinterbo_2018,
    vinterbo_2018_algorithm,
    vinterbo_2018_devices,
    vinterbo_2018_figures,
    vinterbo_2018_loss,
)

Section = Callable[[], Iterator[Row]]

SECTIONS: tuple[tuple[str, Section], ...] = (
    ("note", note.rows),
    ("January 2016, one bit", january_2016_ratio.rows),
    ("January 2016, example", january_2016_example.rows),
    ("January 2016, copies", january_2016_copies.rows),
    ("January 2016, sixteen copies", january_2016_sixteen.rows),
    ("January 2016, vectors", january_2016_vectors.rows),
    ("February 2016, collections", february_2016.rows),
    ("February 2016, one bit", february_2016_one_bit.rows),
    ("February 2016, lemmas", lemmas.rows),
    ("Sufficient DP, worst collection", maximality.rows),
    ("Sufficient DP, ratio", sufficient_dp.rows),
    ("Sufficient DP, moments", sufficient_dp_moments.rows),
    ("Sufficient DP, table and densities", sufficient_dp_table.rows),
    ("Sufficient DP, bound", sufficient_dp_bound.rows),
    ("Sufficient DP, precision", sufficient_dp_precision.rows),
    ("Sufficient DP, few bits set", sufficient_dp_choices.rows),
    ("Sufficient DP, copies", sufficient_dp_copies.rows),
    ("Sufficient DP, appendix II", appendix_two.rows),
    ("Sufficient DP, subsets", subsets.rows),
    ("Vinterbo 2018, matrices", vinterbo_2018.rows),
    ("Vinterbo 2018, loss", vinterbo_2018_loss.rows),
    ("Vinterbo 2018, algorithm", vinterbo_2018_algorithm.rows),
    ("Vinterbo 2018, devices", vinterbo_2018_devices.rows),
    ("Vinterbo 2018, figures", vinterbo_2018_figures.rows),
)


def rows(progress: Callable[[str], None] | None = None) -> tuple[Row, ...]:
    """Recompute every printed value and statement of the five papers; about a minute.

    progress: called with the name of each section before it is computed.
    """
    all_rows: list[Row] = []
    for name, section in SECTIONS:
        if progress:
            progress(name)
        all_rows.extend(section())
    return tuple(all_rows)
