"""The file formats of answers, one module for each."""
