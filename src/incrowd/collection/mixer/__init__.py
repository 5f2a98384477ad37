"""The shuffler: takes uploads, mixes what is sealed, and cannot read it."""
