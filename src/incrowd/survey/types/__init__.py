"""The types of questions: one class in each module."""
