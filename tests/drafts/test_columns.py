"""Columns of data as people and software write them, and the questions that they become."""

import tomllib
from datetime import datetime

import numpy as np
import pandas
import pyarrow as pa
import pytest

import incrowd
from incrowd.drafts.missing import no_answers, stray_words
from incrowd.drafts.scales import ordered
from incrowd.encoding.records import EncodedAnswers, read_column
from incrowd.encoding.spelling import as_text

ROWS = 300
GENERATOR = np.random.default_rng(39)


def survey_of(draft):
    return incrowd.Survey.of(tomllib.loads(draft.toml))


def drafted(**columns):
    """The draft of some columns, and its survey, which takes them."""
    frame = pandas.DataFrame(columns | {"other": ["yes", "no"] * (ROWS // 2)})
    draft = incrowd.draft(frame)
    survey = survey_of(draft)
    assert EncodedAnswers.of(survey, incrowd.load_answers(frame, survey)).number == ROWS
    return draft, survey


def pick(*values, share=None):
    return GENERATOR.choice(np.array(values, object), ROWS, p=share)


def decisions(draft, id):
    return [line for line in draft.undecided if line.startswith(f"{id}: ")]


# --- free text ------------------------------------------------------------------------------------


def remark(number):
    return f"On day {number} somebody took my lunch from the fridge"


FREE = {
    "a third of the people remark": [remark(n) if n % 3 == 0 else None for n in range(ROWS)],
    "a few people remark": [remark(n) if n % 40 == 0 else None for n in range(ROWS)],
    "some remarks recur": [
        "nothing to add" if n % 2 else remark(n) if n % 5 == 0 else "it was fine"
        for n in range(ROWS)
    ],
    "single words of some people": [f"nick{n // 6}" if n % 3 == 0 else "" for n in range(ROWS)],
    "what a few people add": [f"nick3 the {n}th" if n % 25 == 0 else "" for n in range(ROWS)],
    "two remarks among options": [
        "my sister's fridge"
        if n == 7
        else "a fridge at nick3's"
        if n == 9
        else ("home", "work")[n % 2]
        for n in range(ROWS)
    ],
}


@pytest.mark.parametrize("name", FREE)
def test_remarks_of_some_people_are_free_text(name):
    """The wrong variant divides all rows by the number of different remarks."""
    draft, _ = drafted(said=FREE[name])
    (gone,) = draft.left_out
    assert "free text" in gone.reason
    assert "fridge" not in draft.toml and "nick3" not in draft.toml


LISTED = {
    "many places": [f"Town {n % 40}" for n in range(ROWS)],
    "two rare places": ["Bern" if n > 1 else ("Chur", "La Chaux")[n] for n in range(ROWS)],
    "a rare place": ["Bern" if n else "Chur" for n in range(ROWS)],
    "long options": [f"I would choose the option number {n % 6} of these" for n in range(ROWS)],
}


@pytest.mark.parametrize("name", LISTED)
def test_answers_that_recur_are_options(name):
    _, survey = drafted(said=LISTED[name])
    assert survey.question("said").type == "choice"


# --- scales ---------------------------------------------------------------------------------------

KNOWN = (
    "Never|Rarely|Sometimes|Often|Always|Don't know",
    "Strongly disagree|Disagree|Neutral|Agree|Strongly agree",
    "Completely disagree|Somewhat disagree|Neither agree nor disagree|Agree|Completely agree",
    "Very dissatisfied|Dissatisfied|Neutral|Satisfied|Very satisfied",
    "Very unlikely|Unlikely|Neutral|Likely|Very likely",
    "Not at all important|Slightly important|Moderately important|Important|Very important",
    "Very poor|Poor|Fair|Good|Very good|Excellent",
    "XS|S|M|L|XL",
    "very low|low|medium|high|very high",
    "Much worse|Somewhat worse|About the same|Somewhat better|Much better",
    "Not at all|A little|Moderately|Quite a bit|Extremely",
    "stimme überhaupt nicht zu|stimme eher nicht zu|teils, teils|stimme eher zu|stimme voll zu",
    "trifft gar nicht zu|trifft eher nicht zu|trifft eher zu|trifft voll und ganz zu|weiß nicht",
    "sehr unzufrieden|unzufrieden|weder noch|zufrieden|sehr zufrieden",
    "sehr unwahrscheinlich|eher unwahrscheinlich|eher wahrscheinlich|sehr wahrscheinlich",
    "überhaupt nicht wichtig|eher unwichtig|eher wichtig|sehr wichtig",
    "nie|selten|manchmal|oft|immer|keine Angabe",
    "sehr schlecht|schlecht|mittelmäßig|gut|sehr gut",
    "sehr klein|klein|mittel|groß|sehr groß",
    "Under 2,600|2,600 to 10,400|10,400 to 36,400|Above 36,400",
    "unter 1.000 €|1.000 bis 2.500 €|über 2.500 €",
    "< 20|20-29|30-39|60+",
    "Less than 1 month|1-6 months|1-2 years|More than 2 years",
    "0|1-2|3-5|6 or more|prefer not to say",
    "Grade 2|Grade 9|Grade 10",
    "1 - not at all|2|3|4|5 - very much",
    "Mon|Tue|Sat|Sun",
    "Not at all|Several days|More than half the days|Nearly every day",
    "überhaupt nicht|an einzelnen Tagen|an mehr als der Hälfte der Tage|beinahe jeden Tag",
    "nie|mindestens einmal im Jahr|mindestens einmal im Monat|mindestens einmal pro Woche|täglich",
    "trifft gar nicht zu|trifft eher nicht zu|trifft teilweise zu|trifft eher zu|trifft völlig zu",
    "keine|leichte|mäßige|starke|sehr starke",
    "nie|1-2 Tage pro Woche|3-4 Tage pro Woche|immer",
    "Bad|Okay|Great",
    "a) never|b) sometimes|c) always",
    "★|★★|★★★",
    "★☆☆|★★☆|★★★",
)  # fmt: skip


@pytest.mark.parametrize("scale", KNOWN)
def test_options_follow_their_scale(scale):
    steps = tuple(scale.split("|"))
    assert ordered(sorted(steps)) == ordered(steps[::-1]) == steps


@pytest.mark.parametrize("scale", ["red|green|blue", "Chur|Bern|Zug", "A12|B7|C1", "tea|coffee|5"])
def test_other_options_have_no_order_that_is_known(scale):
    assert ordered(scale.split("|")) is None


def test_options_without_a_known_order_are_a_decision():
    draft, survey = drafted(
        color=pick("red", "green", "blue"), often=pick("often", "never", "always")
    )
    assert survey.question("color").options == ("blue", "green", "red")
    assert survey.question("often").options == ("never", "often", "always")
    assert any("alphabetical order" in each for each in decisions(draft, "color"))
    assert decisions(draft, "often") == []


@pytest.mark.parametrize("ordered", [True, False])
def test_categories_keep_the_order_of_the_file(ordered):
    levels = ["hot", "warm", "cold"]
    cells = pandas.Categorical(["cold", "hot", "warm"] * 100, levels, ordered=ordered)
    draft, survey = drafted(felt=cells)
    assert survey.question("felt").options == tuple(levels)
    assert decisions(draft, "felt") == []


def test_categories_in_the_order_of_appearance_have_no_order():
    felt = pa.array(["warm", "cold", "hot"] * 100).dictionary_encode()
    draft = incrowd.draft(pa.table({"felt": felt, "b": ["x", "y", "y"] * 100}))
    assert survey_of(draft).question("felt").options == ("cold", "hot", "warm")
    assert any("alphabetical" in each for each in decisions(draft, "felt"))


# --- numbers --------------------------------------------------------------------------------------

AROUND_ZERO = (
    [-2, -1, 0, 1, 2],
    [-1, 0, 1],
    [-3, -2, -1, 1, 2, 3],
    [-1, 1],
    [-2, -1, 0, 1],
    [-9, 0, 9],
)


@pytest.mark.parametrize("steps", AROUND_ZERO, ids=str)
def test_whole_numbers_around_zero_are_a_scale(steps):
    """The wrong variant takes -1 and -2 for missing answers."""
    assert no_answers(dict.fromkeys(map(str, steps), 60), {}) == ()


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        ([-1, 1, 2, 3, 4, 5], ("-1",)),
        ([-9, 0, 1, 2], ("-9",)),
        ([-2, -1, 1, 2, 3, 4], ("-2", "-1")),
        ([-9, -2, -1, 0, 1, 2], ("-9",)),
        ([-99, -98, -1, 0, 1], ("-99", "-98")),
        ([-3, -2, -1, 1, 2, 3, 9], ("9",)),
        ([-9, -8, -2, -1, 1, 2, 3, 4], ("-9", "-8", "-2", "-1")),
    ],
    ids=str,
)
def test_codes_apart_from_a_scale_mean_no_answer(steps, codes):
    assert no_answers(dict.fromkeys(map(str, steps), 60), {}) == codes


STRAY = (
    "don't know",
    "NI",
    "60+",
    "N.A.",
    "about 5",
    "#DIV/0!",
    "..",
    "不明",
    "weiß nicht",
    "refused",
)


@pytest.mark.parametrize("word", STRAY)
def test_a_word_among_numbers_is_proposed_as_missing(word):
    hours = [word if n % 12 == 0 else str(n % 50) for n in range(ROWS)]
    draft, survey = drafted(hours=hours)
    question = survey.question("hours")
    assert (question.type, question.optional) == ("number", True)
    assert survey.codes_of("hours").missing == (word,)
    assert f"hours: {word} was taken to mean no answer" in draft.undecided


def test_words_among_words_and_few_numbers_stay():
    assert stray_words({"1": 5, "2": 5, "many": 5}) == ()
    assert stray_words({**{f"A{n}": 2 for n in range(30)}, **{str(n): 2 for n in range(12)}}) == ()


CLEAR = {  # values of a column, the signs between thousands and decimals, and the first number
    "commas and millions": (("1,234", "2,345,678", "315"), ",", "", 1234),
    "commas and decimals": (("1,234", "987.5", "2,345.25"), ",", "", 1234),
    "points and millions": (("1.234", "2.345.678", "315"), ".", ",", 1234),
    "points and decimals": (("1.234", "987,5", "12.345,25"), ".", ",", 1234),
    "decimal commas": (("1,234", "2,5", "0,315"), "", ",", 1.234),
    "apostrophes": (("1'234", "315", "22\u2019345"), "'", "", 1234),
    "apostrophes and decimals": (("1'234", "315.5", "22'345"), "'", "", 1234),
    "spaces of all kinds": (("1 234", "2\u00a0345", "1\u202f234\u202f567"), " ", "", 1234),
    "spaces and decimals": (("1 234", "12 345,6", "1 234 567,25"), " ", ",", 1234),
    "numbers of India": (("12,345", "1,23,456", "12,34,567"), ",", "", 12345),
    "with words": (("1,234", "2,345,678", "don't know"), ",", "", 1234),
    "decimal points": (("1.234", "0.315", "12.5"), "", "", 1.234),
    "points beside long numbers": (("1.234", "2500", "3.125"), "", "", 1.234),
}


@pytest.mark.parametrize("name", CLEAR)
def test_the_signs_between_digits_follow_from_the_whole_column(name):
    """The wrong variant reads each number alone, which is wrong by a factor of 1,000."""
    examples, thousands, decimal, first = CLEAR[name]
    signs = {"thousands": thousands, "decimal": decimal}
    cells = [examples[n % 3] for n in range(ROWS - 12)]
    cells += [examples[0][:-1] + str(n % 10) for n in range(12)]  # more than ten different ones
    draft, survey = drafted(income=cells)
    assert survey.question("income").type == "number"
    codes = survey.codes_of("income")
    assert {key: getattr(codes, key) for key in signs} == signs
    loaded = incrowd.load_answers(pandas.DataFrame({"income": cells, "other": "yes"}), survey)
    read = read_column(survey.question("income"), codes, loaded["income"].combine_chunks())
    assert float(read.answers[0].as_py()) == first
    assert not any("thousands" in line for line in decisions(draft, "income"))


UNCLEAR = {
    "commas": (("1,234", "22,345", "315"), "1234 or 1.234"),
    "points": (("1.234", "22.345", "315"), "1234 or 1.234"),
    "one of each": (("1,234", "22.345", "315"), "1234 or 1.234"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_sign_that_may_separate_thousands_or_decimals_is_a_decision(name):
    examples, readings = UNCLEAR[name]
    draft, _ = drafted(income=[examples[n % 3] for n in range(ROWS)])
    (gone,) = draft.left_out
    assert "thousands" in gone.reason and readings in gone.reason
    assert any("1,234 means 1234" in line or "1.234 means 1234" in line for line in draft.undecided)


def test_numbers_that_a_file_stores_as_numbers_are_clear():
    _, survey = drafted(rate=[1 + n % 50 + 0.125 for n in range(ROWS)])
    assert survey.question("rate").type == "number"
    assert survey.codes_of("rate").thousands == ""


MEASURED = {
    "kg": [f"{40 + n / 10:.1f} kg" for n in range(ROWS)],
    "%": [f"{n % 101}%" for n in range(ROWS)],
    "hours": [f"{n % 40} {'hour' if n % 40 == 1 else 'hours'}" for n in range(ROWS)],
    "$": [f"${n * 37 % 5000:,}.50" for n in range(ROWS)],
}


@pytest.mark.parametrize("unit", MEASURED)
def test_numbers_with_a_unit_are_no_options(unit):
    draft, _ = drafted(amount=MEASURED[unit], room=[f"Room {n % 52}" for n in range(ROWS)])
    (gone,) = draft.left_out
    assert gone.reason == f"its numbers are written with {unit!r}; write the numbers alone"


def test_an_answer_that_a_spreadsheet_took_for_a_date_is_a_decision():
    for date in ("2024-02-01", "01. Feb", "2-Jan", "Mai 05"):
        draft, _ = drafted(days=pick("0", date, "3-5 days"))
        assert any("took for a date" in each for each in decisions(draft, "days"))


# --- lists and ticks ------------------------------------------------------------------------------

SEPARATED = {
    **{";": ";", "|": "|", "||": "||", ", ": ",", "\n": "\n", "/": "/", ",": ",", " + ": "+"},
    **{"#": "#", " & ": "&"},
}


@pytest.mark.parametrize("end", ["", "at the end"])
@pytest.mark.parametrize("written", SEPARATED)
def test_lists_are_several_answers(written, end):
    chosen = [
        GENERATOR.choice(["Tea", "Milk", "Juice"], GENERATOR.integers(1, 4), False)
        for _ in range(ROWS)
    ]
    cells = [written.join(each) + (written if end else "") for each in chosen]
    _, survey = drafted(drinks=cells)
    question = survey.question("drinks")
    assert (question.type, question.options, question.at_most) == (
        "multi",
        ("Juice", "Milk", "Tea"),
        3,
    )
    stated = survey.codes_of("drinks").separator
    assert stated == ("" if SEPARATED[written] == ";" else SEPARATED[written])


@pytest.mark.parametrize("separator", [";", ",", " > ", "|"])
def test_the_same_items_in_every_cell_are_a_ranking(separator):
    """The wrong variant has an option for each order, or options that everyone chose."""
    items = np.array(["Price", "Speed", "Look"])
    cells = [
        separator.join(GENERATOR.permutation(items)) + ";" * (separator == ";") for _ in range(ROWS)
    ]
    draft, _ = drafted(rank=cells)
    (gone,) = draft.left_out
    assert gone.reason == "it is a ranking of several options; ask for the first choice"


def test_words_join_several_answers():
    """The wrong variant splits at spaces, and "and" is an option."""
    _, survey = drafted(
        drinks=pick("Tea", "Milk", "Tea and Milk", "Milk and Rum", "Rum", "Tea and Rum")
    )
    assert survey.question("drinks").options == ("Milk", "Rum", "Tea")
    assert survey.codes_of("drinks").separator == " and "


INNER = {
    "a bracket": ("Mail", "Calls (Zoom, Teams)", "Post"),
    "a comma": ("Cough", "Loss of taste, smell", "Fever"),
    "two commas": ("red, white, or rosé", "none of these", "Beer"),
}


@pytest.mark.parametrize("name", INNER)
def test_an_option_that_contains_the_separator_is_one_option(name):
    """Its parts are nowhere apart. The wrong variant publishes them as two options."""
    options = INNER[name]
    lists = [
        ", ".join(GENERATOR.permutation(options)[: GENERATOR.integers(1, 4)]) for _ in range(ROWS)
    ]
    _, survey = drafted(chosen=lists)
    question = survey.question("chosen")
    assert (question.type, {*question.options}, question.at_most) == ("multi", {*options}, 3)
    data = pandas.DataFrame({"chosen": lists, "other": "yes"})
    encoded = EncodedAnswers.of(survey, incrowd.load_answers(data, survey)).encoded["chosen"]
    assert len(encoded.rows) == sum(option in cell for cell in lists for option in options)


def test_codes_with_spaces_are_several_answers():
    _, survey = drafted(
        symptoms=pick("cough", "fever rash", "rash", "cough rash", "fever", "rash cough")
    )
    assert survey.question("symptoms").options == ("cough", "fever", "rash")
    assert survey.codes_of("symptoms").separator == " "


def test_words_of_remarks_are_not_several_answers():
    """A list has each answer once; words of remarks also occur twice in one. The wrong variant
    makes each word an option, which would publish what people wrote."""
    words = ["good", "survey", "I", "like", "work", "never", "tea", "hate", "thanks", "ok", "boss"]
    remarks = [" ".join(GENERATOR.choice(words, GENERATOR.integers(1, 7))) for _ in range(ROWS)]
    assert any(len({*each.split()}) < len(each.split()) for each in remarks)
    draft = incrowd.draft(pandas.DataFrame({"remarks": remarks, "smokes": pick("yes", "no")}))
    (skipped,) = (each for each in draft.columns if each.id == "remarks")
    assert skipped.why.code == "drafts.free-text"


def test_several_codes_between_spaces_are_a_decision():
    draft, _ = drafted(symptoms=pick("cough", "fever rash", "rash", "fever", "rash cough"))
    (doubt,) = draft.questions[0].undecided
    assert "split at spaces" in doubt


def test_the_value_that_is_not_a_number_is_named():
    cups = [*pick(*"012345", share=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1])]
    cups[7] = "3-4"
    draft, _ = drafted(cups=cups)
    doubts = draft.questions[0].undecided
    assert any(each.startswith("3-4 is not a number; ") for each in doubts)
    assert not any("alphabetical" in each for each in doubts)
    draft, _ = drafted(ages=pick("18-24", "25-34", "35+", "1"))
    assert not any("not a number" in each for each in draft.questions[0].undecided)


def test_remarks_that_recur_are_a_decision():
    remarks = pick("nice survey", "I quit last year", "no remark")
    draft, _ = drafted(comments=remarks, answer=remarks)
    comments, answer, _ = (each.undecided for each in draft.questions)
    assert any("remove this question" in each for each in comments)
    assert not any("remove this question" in each for each in answer)


def test_spellings_that_differ_in_capitals_are_one_decision():
    draft, _ = drafted(
        travel=pick("Car", "Bus", "Bike", "car", "bus", share=[0.3] * 3 + [0.05] * 2)
    )
    doubts = [each for each in draft.questions[0].undecided if "capitals" in each]
    assert len(doubts) == 1 and "Car" in doubts[0] and "Bus" in doubts[0]


ONE_ANSWER = {
    "places": ("Paris, France", "Lyon, France", "Bern, Switzerland"),
    "words": ("very good", "good", "very bad", "bad"),
    "directions": ("north east", "south west", "south east"),
    "ranges": ("18 to 24", "25 to 34", "35 to 44"),
    "fractions": ("1/2", "1/4", "3/4"),
}


@pytest.mark.parametrize("name", ONE_ANSWER)
def test_answers_that_contain_separators_are_one_answer(name):
    _, survey = drafted(a=pick(*ONE_ANSWER[name]))
    assert survey.question("a").type == "choice"
    assert {*survey.question("a").options} == {*ONE_ANSWER[name]}


# Columns of ranges in which a spreadsheet turned some into dates, and the ranges that they were.
DATED_RANGES = {
    "a workbook": (datetime(2024, 1, 2), datetime(2024, 3, 5), "6-10", "11-20"),
    "dates as text": ("2024-01-02 00:00:00", "2024-03-05 00:00:00", "2024-06-10 00:00:00", "11-20"),
    "some of them": (datetime(2023, 1, 2), "1-2", "3-5", "6-10", "11-20"),
    "day and month": ("02-Jan", "05-Mar", "10-Jun", "11-20"),
    "month and day": ("Jan-02", "Mar-05", "Jun-10", "Nov-20"),
    "day first": ("1-Feb", "3-May", "6-Oct", "11-20"),
    "in German": ("01. Feb", "03. Mai", "06. Okt", "11-20"),
    "German months": ("01.Feb", "03.Mai", "06.Okt", "Nov 20"),
    "months and years": (datetime(2024, 2, 1), datetime(2024, 5, 3), "6-10", datetime(2020, 11, 1)),
    "slashes": ("1/2/2024", "3/5/2024", "6/10/2024", "11-20"),
}


@pytest.mark.parametrize("name", DATED_RANGES)
def test_ranges_that_became_dates_are_read_back(name):
    """A reader of workbooks writes true dates as texts. The wrong variant makes them options."""
    draft, survey = drafted(visits=pick(*map(as_text, DATED_RANGES[name])))
    assert survey.question("visits").options == ("1-2", "3-5", "6-10", "11-20")
    assert any("turned ranges into dates" in each for each in decisions(draft, "visits"))


DATES = {
    "few days": ("2024-05-01", "2024-05-02", "2024-05-03"),
    "days beside ranges that overlap": ("2024-05-01", "2024-05-02", "1-3"),
    "with words": ("2024-01-02", "2024-03-05", "later"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_not_read_as_ranges(name):
    draft, _ = drafted(day=pick(*DATES[name]))
    assert not any("ranges into dates" in each for each in draft.undecided)


LEFT_OUT_DATES = {
    ("2024-01-02", "2024-03-05", "2024-06-10"): "2024-01-02 was 1-2",
    ("02-Jan", "03-Jan", "17-Jun"): "",
    ("2024-01-02", "2024-01-03", "2024-01-04"): "",
}


@pytest.mark.parametrize("days", LEFT_OUT_DATES)
def test_dates_alone_are_left_out(days):
    draft, _ = drafted(day=pick(*days))
    (column,) = draft.left_out
    assert "dates" in column.reason
    doubt = LEFT_OUT_DATES[days]
    assert doubt in column.doubt if doubt else not column.doubt


def test_ranges_beside_words_are_read_back():
    _, survey = drafted(visits=pick("02-Jan", "3-5", "don't know"))
    assert {*survey.question("visits").options} == {"1-2", "3-5", "don't know"}


@pytest.mark.parametrize("mark", ["x", "X", 1.0, "TRUE", "✓", "Lemonade"])
def test_a_tick_beside_blank_cells_is_yes(mark):
    """The wrong variant says that everyone gave the same answer."""
    ticked = GENERATOR.random(ROWS) < 0.3
    draft, survey = drafted(lemonade=[mark if each else None for each in ticked])
    question = survey.question("lemonade")
    assert (question.type, question.optional) == ("yesno", False)
    assert survey.codes_of("lemonade").values[""] == "no"
    assert any("blank cells were taken to mean no" in each for each in decisions(draft, "lemonade"))


def test_what_people_wrote_beside_other_is_no_tick():
    """The wrong variant publishes it as the answer yes."""
    said = ["my own tea" if n % 9 == 0 else None for n in range(ROWS)]
    names = ("Q3_5_TEXT", "Drinks - Other (please specify)", "Getränke [Sonstiges]")
    draft, _ = drafted(**dict.fromkeys(names, said))
    assert {each.id for each in draft.left_out} == {*names}
    assert "my own tea" not in draft.toml


RECORDED = {
    "Duration (in seconds)": [n * 7 + 60 for n in range(ROWS)],
    "startlanguage": ["de", "en", "en"] * (ROWS // 3),
    "TIME003": [n % 50 for n in range(ROWS)],
    "interviewtime": [n / 7 for n in range(ROWS)],
    "baseline_complete": [0, 2, 2] * (ROWS // 3),
}


def test_what_software_records_is_no_question():
    asked = {
        "duration": [n % 50 for n in range(ROWS)],
        "first language": ["de", "en", "en"] * (ROWS // 3),
        "school_complete": ["yes", "no", "no"] * (ROWS // 3),
    }
    draft, survey = drafted(**RECORDED, **asked)
    assert {each.id for each in draft.left_out} == {*RECORDED}
    assert {*asked} < {each.id for each in survey.questions}
    assert all("describes the record" in each.reason for each in draft.left_out)


def test_selected_and_not_selected_are_yes_and_no():
    words = (("Selected", "Not selected"), ("Checked", "Unchecked"), ("genannt", "nicht genannt"))
    _, survey = drafted(**{f"c{n}": pick(*pair) for n, pair in enumerate(words)})
    for n, (yes, no) in enumerate(words):
        assert survey.codes_of(f"c{n}").values == {yes: "yes", no: "no"}


def test_one_answer_of_everybody_and_a_rare_remark_are_left_out():
    once = ["my boss is a thief"] + [None] * (ROWS - 1)
    draft, _ = drafted(always=["Germany"] * ROWS, once=once, never=["no"] * 50 + [None] * 250)
    assert {each.id for each in draft.left_out} == {"always", "once", "never"}


# --- labels, spellings, names ---------------------------------------------------------------------


def test_spellings_of_one_answer_are_one_option():
    forms = (
        "Zürich",
        "Zu\u0308rich",
        "Z\u00fcrich\u00a0",
        "Bern",
        "bern",
        "St. Gallen",
        "St.\u00a0Gallen",
    )
    draft, survey = drafted(town=pick(*forms))
    assert {each.casefold() for each in survey.question("town").options} == {
        "bern",
        "st. gallen",
        "zürich",
    }
    assert any("capitals were ignored" in each for each in decisions(draft, "town"))


def test_letters_of_other_scripts_are_named():
    draft, _ = drafted(kind=pick("Kind A", "Kind \u0410"))
    (decision,) = decisions(draft, "kind")
    assert "U+0041 and U+0410" in decision


def test_short_codes_keep_their_capitals():
    _, survey = drafted(code=pick("a", "A", "b"))
    assert {*survey.question("code").options} == {"a", "A", "b"}


NAMES = {
    "Do you smoke, ever?": "do_you_smoke_ever",
    "age, in years, at the last birthday of the year": "age_in_years_at_the_last_birthday_of_the",
    "q\u00a01": "q 1",
    " padded": "padded",
    "nai\u0308ve": "naïve",
    "plain id?": "plain id?",
}


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_kept_under_a_clean_id(tmp_path, name):
    frame = pandas.DataFrame({name: ["a", "b", "c"] * 20, "other": ["yes", "no", "no"] * 20})
    frame.to_csv(tmp_path / "a.csv", index=False)
    draft = incrowd.draft(tmp_path / "a.csv")
    survey = survey_of(draft)
    question = survey.questions[0]
    assert question.id == NAMES[name]
    assert survey.codes_of(question.id).column == (name if name != question.id else "")
    assert question.text == (name if "," in name else None)
    assert incrowd.check(survey, tmp_path / "a.csv").accepted


def test_two_columns_with_one_clean_id_are_two_questions():
    _, survey = drafted(
        **{
            "q, 1": pick("a", "b"),
            "q. 1": pick("c", "d"),
            "q 1": pick("e", "f"),
            "q\u00a01": pick("g", "h"),
        }
    )
    ids = [question.id for question in survey.questions[:4]]
    assert len({*ids}) == 4 and ids[1:3] == ["q. 1", "q 1"]


def test_nested_cells_are_left_out_by_name():
    table = pa.table(
        {
            "a": [{"x": 1}, {"x": 2}, {"x": 1}],
            "b": ['{"n": 1}', "{'n': 2}", '["u"]'],
            "c": [[{"x": 1}], [], [{"x": 3}]],
            "d": ["yes", "no", "yes"],
        }
    )
    draft = incrowd.draft(table)
    assert [each.id for each in draft.questions] == ["d"]
    assert all("lists or tables" in each.reason for each in draft.left_out)


def test_weights_and_design_are_no_questions():
    near_one = GENERATOR.uniform(0.3, 1.7, ROWS).round(4)
    columns = {"weight": near_one, "pspwght": near_one * 1000, "gewicht": near_one}
    columns["Hochrechnungsfaktor"] = GENERATOR.integers(200, 900, ROWS)
    design = {"stratum": pick("a", "b"), "PSU": GENERATOR.integers(1, 40, ROWS)}
    design["strat"] = GENERATOR.integers(1, 5, ROWS)
    body = {
        "weight_kg": GENERATOR.normal(75, 9, ROWS).round(1),
        "wt": GENERATOR.normal(75, 9, ROWS).round(1),
    }
    draft, survey = drafted(**columns, **design, **body)
    assert {each.id for each in draft.left_out} == {*columns, *design}
    assert all(each.doubt for each in draft.left_out)
    assert {"weight_kg", "wt"} <= {question.id for question in survey.questions}
    assert '# weights = ["weight_kg", "wt"]  # DECIDE' in draft.toml
    assert all("--margins" in each.doubt for each in draft.left_out)


def test_numbers_of_students_and_employees_are_ids():
    numbers = {
        "Matrikelnummer": GENERATOR.permutation(9000)[:ROWS] + 700_000,
        "Personal-Nr.": GENERATOR.permutation(9000)[:ROWS] + 10_000,
        "student number": GENERATOR.permutation(90_000)[:ROWS],
    }
    draft, _ = drafted(**numbers)
    assert {each.id for each in draft.left_out} == {*numbers}
    assert all("looks like an id" in each.reason for each in draft.left_out)


# --- questions that nobody needs to be asked ------------------------------------------------------

SILLY = {  # columns, and what a draft must not ask about them
    "shares with many ones": ([0.1, 0.25, 0.3, 0.6] * 10 + [1] * 260, "no answer"),
    "empty cells of numbers": ([*range(13)] * 23 + ["NA"], "no answer"),
    "empty cells of yes and no": (["yes", "no", "NA"] * 100, "no answer"),
    "what is not so": (["insured", "not insured"] * 150, "several answers"),
    "two codes": ([1, 2] * 150, "amounts"),
}
DOUBTFUL = {
    "amounts with many of the largest": ([*range(20)] * 13 + [500] * 40, "no answer"),
    "empty cells of words": (["DE", "FR", "NA"] * 100, "NA was taken to mean no answer"),
    "a refusal": ([*range(29)] * 10 + ["refused"] * 10, "refused was taken to mean no answer"),
    "several codes": (["a1 a2", "a2 a3", "a1"] * 100, "several answers"),
    "three codes": ([1, 2, 3] * 100, "amounts"),
}


@pytest.mark.parametrize("name", SILLY)
def test_what_is_certain_is_not_asked(name):
    values, asked = SILLY[name]
    draft, survey = drafted(said=np.array(values, object))
    assert survey.question("said")
    assert not any(asked in line for line in decisions(draft, "said"))


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_doubtful_is_asked(name):
    values, asked = DOUBTFUL[name]
    draft, _ = drafted(said=np.array(values, object))
    assert any(asked in line for line in decisions(draft, "said"))


def test_years_are_not_codes():
    years = [2019, 2020, 2021] * 100
    draft, survey = drafted(year_of_visit=years, grade=years)
    assert survey.question("year_of_visit").options == ("2019", "2020", "2021")
    assert not any("are codes" in line for line in decisions(draft, "year_of_visit"))
    assert any("are codes" in line for line in decisions(draft, "grade"))


def test_large_numbers_of_few_rows_are_amounts():
    """The wrong variant lists the number of everyone. A scale of ten steps is one even so."""
    waists = [31, 32, 33, 34, 34, 36, 37, 38, 46] * 2
    frame = pandas.DataFrame({"waist": waists, "step": [1, 2, 3, 4, 5, 6, 7, 8, 10] * 2})
    survey = survey_of(incrowd.draft(frame))
    assert (survey.question("waist").type, survey.question("step").type) == ("number", "choice")


INDEXED = {
    "pandas": (",a,b\n0,yes,3\n1,no,4\n2,no,5\n", []),
    "R": ('"","a","b"\n"1","yes",3\n"2","no",4\n"3","no",5\n', []),
    "names of rows": (",a,b\nAnna,yes,3\nBob,no,4\nCid,no,5\n", ["column 1"]),
    "the last column": ("a,b,\nyes,3,0\nno,4,1\nno,5,2\n", ["column 3"]),
}


@pytest.mark.parametrize("name", INDEXED)
def test_row_numbers_of_data_frames_are_no_column(name, tmp_path):
    text, left_out = INDEXED[name]
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    draft = incrowd.draft(tmp_path / "a.csv")
    assert [column.id for column in draft.left_out] == left_out
