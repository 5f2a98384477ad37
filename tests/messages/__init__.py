"""A call for every message that the package can make; `python -m tests.messages` prints them."""
