"""Weighting."""
