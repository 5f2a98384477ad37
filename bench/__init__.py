"""Measurements; they never fail a build."""
