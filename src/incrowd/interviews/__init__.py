"""Interviews whose answers a die, a spinner, cards, or a birthday randomizes.

The person holds the device, so its probabilities are given, and answers arrive randomized.
"""
