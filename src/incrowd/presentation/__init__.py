"""Estimates -> tables for machines, for the terminal and for a page."""
