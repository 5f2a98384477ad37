"""Entropy and sampling: turn records into reports, with exactly the plan's probabilities."""
