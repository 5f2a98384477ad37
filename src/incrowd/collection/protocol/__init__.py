"""What travels: every byte of it, as frozen data and pure functions. See docs/protocol.md."""
