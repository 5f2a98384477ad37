"""What every output says of reports that were made with a known seed: they protect nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


SEED = "simulation_seed"
WARNING = "simulation"


def simulation_warning(seed: int) -> str:
    """What must stand above whatever was made from a simulation."""
    return (
        f"Simulation. These reports were randomised with the known seed {seed}, so the noise can "
        "be taken off again and they protect nobody. What is promised here holds for reports "
        "randomised without a seed."
    )


def marked(facts: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """JSON-ready facts with the seed, null for real reports; of a simulation with the warning."""
    warning = {} if seed is None else {WARNING: simulation_warning(seed)}
    return warning | facts | {SEED: seed}


def marked_table(table: pa.Table, seed: int | None) -> pa.Table:
    """A table that says so in every row if it is of a simulation; else as it was.

    Rows are all that a CSV file has.
    """
    import pyarrow as pa  # slow to load, and a plan needs none

    if seed is None:
        return table
    words = f"known seed {seed}: these reports protect nobody"
    return table.append_column(WARNING, pa.array([words] * table.num_rows, pa.string()))
