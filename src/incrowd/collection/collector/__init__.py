"""The collector: receives releases, opens them, writes collections and receipts."""
