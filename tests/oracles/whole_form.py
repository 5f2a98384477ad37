"""A questionnaire of 25 questions as an XLSForm: four sections, conditions, one of them nested, and
a matrix; and answers to it as the form's software exports them."""

import openpyxl
import pandas

ITEMS = ("nervous", "hopeless", "restless", "sad", "tired", "worthless")
SURVEY = [
    ("type", "name", "label", "required", "relevant", "constraint", "appearance"),
    ("note", "consent_text", "We ask about your health. You can stop at any time."),
    ("acknowledge", "consent", "I take part.", "yes"),
    ("begin_group", "you", "About you"),
    ("integer", "age", "How old are you?", "yes", None, ". >= 16 and . <= 96"),
    ("select_one sex", "sex", "What is your sex?", "yes"),
    ("select_one area", "area", "Where do you live?", "yes"),
    ("integer", "people", "How many people live with you?", "yes", None, ". >= 0 and . <= 20"),
    ("select_one yn", "works", "Do you work?", "yes"),
    ("end_group",),
    ("begin_group", "work", "Your work", None, "${works} = 'y' and ${age} >= 18"),
    ("decimal", "hours", "How many hours a week?", "yes", None, ". >= 0 and . <= 80"),
    ("select_one travel or_other", "travel", "How do you get there?", "yes"),
    ("select_one yn", "nights", "Do you work at night?", "yes"),
    ("select_one often", "breaks", "Do you have breaks?", "yes"),
    ("end_group",),
    ("begin_group", "habits", "Your habits"),
    ("select_one yn", "smokes", "Do you smoke?", "yes"),
    ("begin_group", "smoking", None, None, "${smokes} = 'y'"),
    ("integer", "cigarettes", "How many cigarettes a day?", "yes", None, ". >= 0 and . <= 60"),
    ("select_one yn", "quit", "Did you try to stop?", "yes", "${cigarettes} > 10"),
    ("end_group",),
    (
        "select_multiple drinks",
        "drinks",
        "What do you drink?",
        "yes",
        None,
        "count-selected(.) <= 2",
    ),
    ("select_one often", "weekly", "Do you drink during the week?", "yes"),
    ("select_one often", "sports", "Do you do sports?", "yes"),
    ("select_one often", "fruit", "Do you eat fruit?", "yes"),
    ("end_group",),
    ("begin_group", "mood", "Your mood"),
    (
        "begin_group",
        "mood_items",
        "In the last month, how often were you",
        *[None] * 3,
        "table-list",
    ),
    *(("select_one often", name, name, "yes") for name in ITEMS),
    ("end_group",),
    ("select_one yn", "sleeps", "Do you sleep well?", "yes"),
    ("select_one yn", "help", "Did you look for help?", "yes"),
    ("select_one yn", "found_help", "Did you find help?", "no"),
    ("end_group",),
    ("note", "bye", "Thank you for your answers!"),
]
LISTS = {
    "yn": {"y": "Yes", "n": "No"},
    "sex": {"f": "Female", "m": "Male", "d": "Diverse"},
    "area": {"1": "City", "2": "Town", "3": "Village"},
    "travel": {"car": "By car", "bus": "By bus", "foot": "On foot"},
    "often": {"0": "Never", "1": "Sometimes", "2": "Often"},
    "drinks": {"b": "Beer", "w": "Wine", "n": "Nothing of these"},
}
CHOICES = [
    ("list_name", "name", "label"),
    *((name, code, label) for name, codes in LISTS.items() for code, label in codes.items()),
]
SETTINGS = [("form_title", "form_id"), ("Health and habits", "health")]


def written(path):
    """Write the form as a workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in (("survey", SURVEY), ("choices", CHOICES), ("settings", SETTINGS)):
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def exported(people):
    """The answers of some people as the form's software exports them: blank if they were not
    asked."""
    smokes = {"smokes": "y", "cigarettes": "20", "quit": "n"}
    base = {"age": "40", "sex": "f", "area": "1", "people": "2", "works": "y", "hours": "37.5"}
    base |= {"travel": "other", "nights": "n", "breaks": "1", **smokes, "drinks": "b w"}
    base |= {
        "weekly": "0",
        "sports": "1",
        "fruit": "2",
        "sleeps": "y",
        "help": "y",
        "found_help": "",
    }
    base |= dict.fromkeys(ITEMS, "1")
    rows = [base | person for person in people]
    return pandas.DataFrame(rows)


NO_WORK = dict.fromkeys(("hours", "travel", "nights", "breaks"), "")
