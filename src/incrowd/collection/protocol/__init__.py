"""The wire formats, as frozen data and pure functions. See docs/protocol.md."""
