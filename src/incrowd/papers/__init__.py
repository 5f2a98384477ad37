"""The papers, recomputed."""
