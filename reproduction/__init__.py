"""The five papers, recomputed: an audit of their values, and no part of the package."""
