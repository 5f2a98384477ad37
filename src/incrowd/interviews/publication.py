"""What a publication has to say about how the answers of interviews were randomized."""

from __future__ import annotations

from incrowd.catalog.sentences import Sentence, joined, sentence
from incrowd.interviews.designs import ItemDesign, parameter_texts
from incrowd.interviews.devices import Die, HandDevice
from incrowd.interviews.survey import InterviewSurvey
from incrowd.version import __version__


def method_of(survey: InterviewSurvey, language: str = "") -> Sentence:
    """Return the sentences on methods for a publication: the device, the wording and the design of
    each question with its source, and what computed the figures.

    language: of the wordings; by default that of the survey.
    """
    each = (
        sentence(
            "devices.method-question",
            question=item.id,
            text=survey.text_of(item.id, language),
            design=_design(item.design),
        )
        for item in survey.items
    )
    return sentence(
        "devices.method",
        survey=survey.name,
        device=_device(survey.device),
        questions=joined("shared.first-then", each),
        version=__version__,
    )


def _device(device: HandDevice) -> Sentence:
    """Return what randomizes."""
    two = isinstance(device, Die) and device.dice > 1
    return sentence("devices.method-two-dice" if two else device.in_methods)


def _design(design: ItemDesign) -> str | Sentence:
    """Return the designs of a question with their probabilities, one for each group."""
    return joined(
        "devices.method-group",
        (
            sentence(
                "devices.method-design",
                kind=sentence(one.in_methods),
                parameters=", ".join(parameters),
            )
            if (parameters := parameter_texts(one))
            else sentence(one.in_methods)
            for one in design.designs
        ),
    )
