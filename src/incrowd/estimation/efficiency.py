"""What randomising costs, in people: the effective sample size."""

from __future__ import annotations


def effective_sample(people: int, lost: float) -> float:
    """n' = N / L: so many people, asked without noise, tell as much; Vinterbo, proposition 3.1."""
    return people / lost
