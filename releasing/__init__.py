"""The checks before a release, and what they need: `python -m releasing` runs them.

Outside of the package, and not shipped in a wheel. Nothing here uploads anything.
"""
