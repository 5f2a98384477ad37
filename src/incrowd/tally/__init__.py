"""Collections -> counts."""
