"""What the shuffler keeps while it collects: sealed once more under a key beside the database."""
