"""Pure functions on arrays, without state, files, or randomness."""
