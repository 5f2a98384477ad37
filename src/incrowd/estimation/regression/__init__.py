"""Regression from randomised reports: unbiased estimating equations. docs/regression.md."""
