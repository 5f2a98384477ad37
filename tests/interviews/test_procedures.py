"""Cards for respondents: a reader who knows only the printed words realizes the matrix exactly."""

import calendar
import re
from fractions import Fraction as F
from itertools import product

import pytest

from incrowd.catalog.sentences import translated
from incrowd.interviews.designs import DESIGNS, design_of
from incrowd.interviews.devices import DEVICES
from incrowd.interviews.faces import faces_of
from incrowd.interviews.procedures import procedure

YES_NO = ("no", "yes")
DAYS = [
    f"{calendar.month_name[month]} {day}"
    for month in range(1, 13)
    for day in range(1, calendar.monthrange(2001, month)[1] + 1)
]
# What a device shows, physically: each outcome once.
DEVICE = {
    "die": ({"kind": "die"}, range(1, 7)),
    "dice": ({"kind": "die", "dice": 2}, [*product(range(1, 7), repeat=2)]),
    "spinner": ({"kind": "spinner"}, range(1, 101)),
    "cards": ({"kind": "cards"}, range(1, 37)),
    "coin": ({"kind": "coin", "tosses": 1}, [*product(("heads", "tails"))]),
    "tosses": ({"kind": "coin", "tosses": 3}, [*product(("heads", "tails"), repeat=3)]),
    "months": ({"kind": "birthday"}, [*calendar.month_name][1:]),
    "days": ({"kind": "birthday", "calendar": "days"}, DAYS),
}


def device(name):
    raw, outcomes = DEVICE[name]
    made = DEVICES[raw["kind"]](**raw)
    assert made.outcomes == len(outcomes)
    return made


def designs(n):
    """Designs of each kind with probabilities that are multiples of 1/n."""
    one, most, some = F(1, n), F(n - 1, n), F(max(n // 3, 1), n)
    columns = (
        {"no": [most, one], "yes": [some, 1 - some]}
        if n > 2
        else {"no": [1, 0]} | {"yes": [one, one]}
    )
    return {
        "direct": [{}],
        "warner": [{"p": each} for each in {one, some} - {F(1, 2)}],
        "forced": [{"yes": one}, *([{"yes": one, "no": some}] if n > 2 else [])],
        "unrelated": [{"p": each, "prevalence": "1/3", "question": "?"} for each in (one, most)],
        "crosswise": [{"p": each} for each in {one, some} - {F(1, 2)}],
        "triangular": [{"p": one}, {"p": some}],
        "kuk": [{"yes": most, "no": 0 if n == 2 else one}, {"yes": 1, "no": some}],
        "mangat": [{"p": one if n == 2 else most}],
        "matrix": [{"columns": columns}],
    }  # fmt: skip


# --- a reader of the card --------------------------------------------------------------------


ORDER = {str(number): number for number in range(1, 101)}
ORDER |= {name: place for names in (calendar.month_name, DAYS) for place, name in enumerate(names)}


def shows(outcome, text):
    """Whether an outcome is one of those that a text names."""
    for part in re.split(r", | or ", text):
        if isinstance(outcome, tuple) and isinstance(outcome[0], str):  # tosses
            heads = {"never heads": 0, "heads once": 1}.get(part)
            if times := re.fullmatch(r"heads (\d) times", part):
                heads = int(times[1])
            if (part == "–".join(outcome)) if heads is None else outcome.count("heads") == heads:
                return True
            continue
        if pair := re.fullmatch(r"red (\d) and white (\d)", part):
            if outcome == (int(pair[1]), int(pair[2])):
                return True
            continue
        low, _, high = part.partition(" to ")
        seen = sum(outcome) if isinstance(outcome, tuple) else ORDER[str(outcome)]
        if ORDER[low] <= seen <= ORDER[high or low]:
            return True
    return False


def says(do, true):
    """What a person with a true answer says: reports with their probabilities."""
    if do == "Answer the other question truthfully.":
        return {"yes": F(1, 3), "no": F(2, 3)}
    if do == "Answer the question truthfully.":
        return {true: F(1)}
    if do == "Say the opposite of the truth.":
        return {"yes" if true == "no" else "no": F(1)}
    return {re.fullmatch(r"Say “(.+?)”(, whether or not it is true)?\.", do)[1]: F(1)}


def compared(do, true, other):
    """What a person says who compares two answers; nothing if the line is not about hers."""
    report, when = re.fullmatch(r"Say “(.+?)” if (.+)\.", do).groups()
    fits = {
        "your answers to both questions are the same": true == other,
        "one of your answers is “yes” and the other is “no”": true != other,
        "at least one of your answers is “yes”": "yes" in (true, other),
        "your answers to both questions are “no”": (true, other) == ("no", "no"),
    }[when]
    return {report: F(1)} if fits else {}


def printed(card):
    """The words of a card: the other question, and whose lines there are."""
    other = card.other if card.design.kind != "unrelated" else None
    lines = [
        (
            rule.whose and translated(rule.whose, "en"),
            line.faces and translated(line.faces.words, "en"),
            translated(line.do, "en"),
        )
        for rule in card.rules
        for line in rule.lines
    ]
    return other and translated(other, "en"), lines


def read_card(words, outcome, true):
    """Follow the printed card."""
    other, lines = words
    if other:
        faces = re.sub(r"^.*(show|add up to|stop on|birthday in|these days:) ", "", other[:-1])
        is_so = "yes" if shows(outcome, faces) else "no"
        (report,) = filter(None, (compared(do, true, is_so) for _, _, do in lines))
        return report
    for whose, faces, do in lines:
        mine = whose is None or f"“{true}”" in whose
        if mine and (faces is None or shows(outcome, faces)):
            return says(do, true)
    raise AssertionError(f"the card does not say what to do: {outcome}")


def realized(card, outcomes, answers=YES_NO):
    """The matrix that people realize who follow the card."""
    reports, words = card.design.drawn_reports(answers), printed(card)
    matrix = [[F() for _ in answers] for _ in reports]
    for column, true in enumerate(answers):
        for outcome in outcomes:
            for report, share in read_card(words, outcome, true).items():
                matrix[reports.index(report)][column] += share / len(outcomes)
    return tuple(map(tuple, matrix))


CASES = [(name, kind) for name in DEVICE for kind in DESIGNS if (name, kind) != ("cards", "kuk")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_people_who_follow_the_card_realize_the_matrix(name, kind):
    hand, (_, outcomes) = device(name), DEVICE[name]
    for keys in designs(len(outcomes))[kind]:
        design = design_of({"kind": kind, **keys})
        card = procedure(design, hand, YES_NO)
        assert realized(card, outcomes) == design.matrix(YES_NO), keys


def test_a_card_with_a_wrong_face_is_seen():
    card = procedure(design_of({"kind": "forced", "yes": "1/6"}), device("die"), YES_NO)
    shifted = procedure(design_of({"kind": "forced", "yes": "2/6"}), device("die"), YES_NO)
    assert realized(card, range(1, 7)) != shifted.design.matrix(YES_NO)


def test_two_packs_of_cards_have_the_shares_of_the_design():
    design = design_of({"kind": "kuk", "yes": "2/3", "no": "1/6", "repeats": 3})
    card = procedure(design, device("cards"), YES_NO)
    first, second, color = card.rules
    assert translated(first.whose, "en") == "If your true answer is “yes”"
    assert translated(first.lines[0].do, "en") == "Draw a card from pack “A”."
    assert translated(second.lines[0].do, "en") == "Draw a card from pack “B”."
    assert translated(color.lines[0].do, "en").endswith("“black” or “red”.")
    red = [
        sum(len(f.readings) for s, f in card.faces(true) if s.answer == "red") for true in (0, 1)
    ]
    assert red == [6, 24]


def test_forced_response_of_three_answers():
    answers = ("never", "once", "often")
    design = design_of({"kind": "forced", "forced": {"never": "1/36", "once": "2/36", "often": 0}})
    card = procedure(design, device("dice"), answers)
    assert realized(card, DEVICE["dice"][1], answers) == design.matrix(answers)


@pytest.mark.parametrize(
    ("name", "shares", "read_as"),
    [
        ("dice", (F(6, 36), F(24, 36), F(6, 36)), "dice"),
        ("dice", (F(1, 36), F(1, 36), F(1, 36), F(33, 36)), "two-dice"),
        ("tosses", (F(1, 8), F(7, 8)), "coins"),
        ("tosses", (F(2, 8), F(2, 8), F(4, 8)), "tosses"),
    ],
)
def test_readings_are_the_easiest_ones_that_are_exact(name, shares, read_as):
    found = faces_of(device(name), shares)
    assert {each.read_as for each in found} == {read_as}
    for faces, share in zip(found, shares, strict=True):
        text = translated(faces.words, "en")
        assert sum(shows(outcome, text) for outcome in DEVICE[name][1]) == share * len(
            DEVICE[name][1]
        )


@pytest.mark.parametrize(("name", "kind"), [*CASES, ("cards", "kuk")])
def test_all_outcomes_together_are_the_matrix(name, kind):
    hand = device(name)
    for keys in designs(hand.outcomes)[kind]:
        design = design_of({"kind": kind, **keys})
        for true in range(2):
            column = [F(), F()]
            for outcome in procedure(design, hand, YES_NO).outcomes(true):
                column[outcome.report] += outcome.probability
            assert column == [row[true] for row in design.matrix(YES_NO)]


def test_a_statement_of_the_survey_needs_no_device():
    design = design_of({"kind": "crosswise", "p": "1/4", "statement": "Born in May?"})
    card = procedure(design, device("die"), YES_NO)
    assert card.acts == () and card.other == "Born in May?"
    assert [each.other for each in card.outcomes(1)] == [1, 0]
    assert [each.probability for each in card.outcomes(1)] == [F(1, 4), F(3, 4)]
