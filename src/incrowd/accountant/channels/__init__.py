"""The randomizers as data: one frozen class per module, and the only source of p and q."""
