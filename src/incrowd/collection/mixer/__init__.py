"""The shuffler: stores uploads and mixes sealed reports, which it cannot read."""
