"""Counts -> estimates with errors."""
