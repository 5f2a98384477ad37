"""Packed collections of reports on disk, and counting them, here or on Apache Spark."""
