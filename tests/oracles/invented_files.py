"""Invented files of twelve kinds, as survey software and people write them, from fixed seeds."""

from __future__ import annotations

from random import Random

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet

DIGITS = {
    "arabic": "٠١٢٣٤٥٦٧٨٩",
    "devanagari": "०१२३४५६७८९",
    "bengali": "০১২৩৪৫৬৭৮৯",
    "full width": "０１２３４５６７８９",
    "persian": "۰۱۲۳۴۵۶۷۸۹",
}
WORDS = ("don't know", "NI", "60+", "N.A.", "about 5", "#DIV/0!", "..", "未知", "n/k", "RF")
SCALES = (
    ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
    ("nie", "selten", "manchmal", "oft", "immer"),
    ("under 20", "20 to 39", "40 to 59", "60+"),
    ("Poor", "Fair", "Good", "Very good", "Excellent"),
    ("red", "green", "blue"),
)
TOWNS = ("Café au lait", "Zürich", "Ærø", "São Paulo", "Łódź", "Brno")
ITEMS = ("Phone", "Radio", "Television", "Watch", "Own car")
NAMES = (
    "age, in years",
    " a",
    "b ",
    "q\u00a01",
    "naïve",
    "nai\u0308ve",
    "Q1",
    "q1",
    "1",
    "a.b",
    "x/y",
    "id?",
)


def numbers(r, rows):
    return [r.randint(0, 80) for _ in range(rows)]


def words_among_numbers(r, rows):
    words = r.sample(WORDS, r.randint(1, 3))
    cells = [r.choice(words) if r.random() < 0.1 else str(n) for n in numbers(r, rows)]
    return {"hours": cells, "days": [str(n % 12) for n in numbers(r, rows)]}


def other_digits(r, rows):
    digits = str.maketrans("0123456789", DIGITS[r.choice([*DIGITS])])
    mixed = [r.choice((str(n), str(n).translate(digits))) for n in numbers(r, rows)]
    return {
        "count": [str(n).translate(digits) for n in numbers(r, rows)],
        "few": [str(r.randint(1, 4)).translate(digits) for _ in range(rows)],
        "mixed": mixed,
        "both": [r.choice((str(n % 3), str(n % 3).translate(digits))) for n in numbers(r, rows)],
    }


def spellings(r, rows):
    import unicodedata

    forms = (
        str,
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: text.replace(" ", "\u00a0"),
        str.upper,
        lambda text: f" {text} ",
    )
    return {
        "town": [r.choice(forms)(r.choice(TOWNS)) for _ in range(rows)],
        "quote": [r.choice(("Don’t care", "Don't care", "I do", "I  do")) for _ in range(rows)],
        "cyrillic": [r.choice(("Town A", "Town \u0410", "Town B")) for _ in range(rows)],
    }


def lists(r, rows):
    separator = r.choice((";", "|", ", ", "\n", ",", "/"))
    end = r.choice(("", separator))
    cells = []
    for _ in range(rows):
        chosen = r.sample(ITEMS, r.choice((0, 1, 1, 2, 3)))
        cells.append(separator.join(chosen) + end if chosen else r.choice(("", None)))
    codes = [" ".join(r.sample("abcd", r.choice((1, 1, 2, 3)))) for _ in range(rows)]
    return {"devices": cells, "codes": codes}


def ticks(r, rows):
    mark = r.choice(("x", "X", "1", "✓", "TRUE", "Beer"))
    return {
        f"drinks_{n}": [mark if r.random() < 0.4 else r.choice(("", None)) for _ in range(rows)]
        for n in range(3)
    }


def remarks(r, rows):
    def remark():
        return f"My boss {r.choice(('shouted', 'left', 'sang'))} at {r.randint(1, 10**6)}"

    often = ["nothing to add"] * 3 + ["all is fine"]
    return {
        "bullied": [r.choice(("yes", "no")) for _ in range(rows)],
        "comment": [
            None if r.random() < 0.6 else r.choice(often) if r.random() < 0.2 else remark()
            for _ in range(rows)
        ],
    }


def scales(r, rows):
    return {f"q{n}": [r.choice(scale) for _ in range(rows)] for n, scale in enumerate(SCALES)} | {
        "steps": [r.randint(-2, 2) for _ in range(rows)],
        "trend": [r.choice((-1, 0, 1)) for _ in range(rows)],
    }


def headers(r, rows):
    chosen = r.sample(NAMES, 6)
    return {name: [r.choice(("yes", "no", "perhaps")) for _ in range(rows)] for name in chosen}


def panel(r, rows):
    people = rows // 3
    return {
        r.choice(("pid", "id", "person_id")): [f"P{n:04}" for n in range(people) for _ in range(3)],
        "wave": [1, 2, 3] * people,
        "smokes": [r.choice(("yes", "no")) for _ in range(3 * people)],
        "weight": [round(r.uniform(0.4, 1.9), 3) for _ in range(3 * people)],
    }


def gaps(r, rows):
    return {
        "text": [r.choice(("a", "b", "", " ", None, "none", "NA")) for _ in range(rows)],
        "number": [r.choice((1.0, 2.0, None, -99.0)) for _ in range(rows)],
        "float": [r.choice((0.5, 1.5, 2.25, 1e6, None)) for _ in range(rows)],
        "flag": [r.choice((True, False, None)) for _ in range(rows)],
        "empty": [None] * rows,
    }


def categories(r, rows):
    frame = pandas.DataFrame(scales(r, rows))
    order = pandas.CategoricalDtype(SCALES[0], ordered=r.random() < 0.5)
    frame["q0"] = frame["q0"].astype(order)
    frame["q4"] = frame["q4"].astype("category")
    return frame


def numbers_of_all_kinds(r, rows):
    random = np.random.default_rng(r.randint(0, 10**6))
    return {
        "income": random.lognormal(10, 0.6, rows).round(),
        "share": random.random(rows).round(3),
        "negative": random.normal(0, 5, rows).round(1),
        "padded": [f"{r.randint(1, 5):03}" for _ in range(rows)],
        "both": [r.choice(("1", "1.0", "01", "2", "3")) for _ in range(rows)],
        "exponent": [r.choice(("1e3", "2E3", "1_0", "+5", "12")) for _ in range(rows)],
        "thousands": [f"{r.randint(1, 9)},{r.randint(0, 999):03}" for _ in range(rows)],
    }


KINDS = {
    "words among numbers": words_among_numbers,
    "digits of other scripts": other_digits,
    "spellings": spellings,
    "lists": lists,
    "ticks": ticks,
    "remarks": remarks,
    "scales": scales,
    "headers": headers,
    "panels": panel,
    "gaps": gaps,
    "categories": categories,
    "numbers": numbers_of_all_kinds,
}
ENDINGS = ("csv", "jsonl", "parquet", "tsv", "frame")


def invented(kind, seed, folder):
    """The n-th file of a kind, or a data frame."""
    random = Random(f"{kind} {seed}")
    rows = random.choice((30, 120, 300))
    content = KINDS[kind](random, rows)
    frame = content if isinstance(content, pandas.DataFrame) else pandas.DataFrame(content)
    ending = ENDINGS[seed % len(ENDINGS)]
    if ending == "frame":
        return frame
    path = folder / f"file{seed}.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    elif ending == "jsonl":
        path.write_text(frame.to_json(orient="records", lines=True, force_ascii=False))
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return path
