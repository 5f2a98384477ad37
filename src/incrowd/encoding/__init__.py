"""Encode answers from files and data frames as bits."""
