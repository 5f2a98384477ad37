"""The version of this source tree, which both distributions have."""

__version__ = "1.0.0rc1"
