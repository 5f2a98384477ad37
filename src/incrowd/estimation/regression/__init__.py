"""Regression from randomized reports: unbiased estimating equations. docs/regression.md."""
