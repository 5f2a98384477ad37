"""The public arrows: plan, randomize, estimate, simulate, verify."""
