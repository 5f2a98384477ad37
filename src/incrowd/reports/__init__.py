"""Packed collections of reports, and their Parquet files."""
