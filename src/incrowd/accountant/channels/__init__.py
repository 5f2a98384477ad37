"""The randomizers as data: one frozen class a file, the only place where p and q come from."""
