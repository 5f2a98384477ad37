"""Surveys written from what people have: answers, or a questionnaire of other software."""
