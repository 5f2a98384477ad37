"""The collector: takes releases, opens them, writes collections with the receipt beside them."""
