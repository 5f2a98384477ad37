"""The texts of messages in English and German, by code."""
