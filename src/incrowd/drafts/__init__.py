"""Drafts of surveys, written from answers or from a questionnaire of other software."""
