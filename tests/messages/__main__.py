"""Print every message."""

from tests.messages.listing import lines

print("\n".join(lines()))
