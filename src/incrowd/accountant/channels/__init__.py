"""The randomizers as data: one frozen class per file, and the only source of p and q."""
