"""Privacy: what a noise level guarantees, by which analysis."""
