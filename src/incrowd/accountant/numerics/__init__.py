"""Pure functions on arrays: no state, no files, no randomness."""
