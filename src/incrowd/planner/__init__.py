"""Survey -> plan."""
