"""The second of two mixers: its folder, opening envelopes, releasing, its HTTP service."""
