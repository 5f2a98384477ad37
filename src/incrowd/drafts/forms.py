"""The kinds of forms that are recognized."""

from __future__ import annotations

from dataclasses import replace

from incrowd.catalog.sentences import joined, sentence
from incrowd.drafts import limesurvey, qualtrics, questionnaire, redcap, xlsform
from incrowd.drafts.draft import Draft
from incrowd.drafts.form import Form, FormFile, unique
from incrowd.encoding.sources import FORM, AnswersSource, kind_of
from incrowd.errors import AnswersError

FORMS: tuple[Form, ...] = (
    xlsform.FORM,
    redcap.FORM,
    limesurvey.FORM,
    qualtrics.FORM,
    questionnaire.FORM,
)
SHOWN = 3  # reasons


def form_draft(name: str, source: AnswersSource) -> Draft | None:
    """Return the draft of a form; None if the file is not one.

    Raises AnswersError for a form that cannot be read, or has no question that can be counted.
    """
    file = FormFile(source)
    form = next((each for each in FORMS if each.recognized(file)), None)
    if form is None:
        if source.kind == FORM:  # no answers either
            kind_of(source.name, file.start.encode(), None, source.encoding)
        return None
    draft = form.draft(name, file)
    draft = replace(draft, columns=tuple(unique(draft.columns)))
    if draft.questions:
        return draft
    if not draft.left_out:
        raise AnswersError.of("answers", "drafts.form-without-questions", form=form.spoken)
    reasons = [
        sentence("drafts.column", id=each.id, why=each.why) for each in draft.left_out[:SHOWN]
    ]
    why = joined("shared.first-then", reasons)
    raise AnswersError.of("answers", "drafts.form-not-counted", form=form.spoken, why=why)
