"""The shuffler's store of uploads, encrypted again with a key outside the database."""
