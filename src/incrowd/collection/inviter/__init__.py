"""The inviter: it knows who was invited, and signs tokens without seeing them."""
