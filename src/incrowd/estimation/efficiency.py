"""What randomising costs, in people: the effective sample size."""

from __future__ import annotations


def effective_sample(people: int, lost: float) -> float:
    """n' = N / L: so many people, asked without noise, tell as much; Vinterbo, proposition 3.1."""
    return people / lost


def greenwood_mean(cells: int) -> float:
    """E[s] = 2 / (cells + 1) for shares from the flat Dirichlet law: Moran 1947, Vinterbo 4.1.

    s is the sum of the squared shares of all cells.
    """
    return 2 / (cells + 1)
