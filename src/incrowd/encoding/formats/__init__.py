"""One file for each kind of file that answers stand in."""
