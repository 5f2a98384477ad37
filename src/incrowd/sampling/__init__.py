"""Entropy and sampling: records become reports, exactly as the plan specifies."""
