"""Answers <-> bits."""
