"""Text that is not UTF-8: what is suggested, shown, and certain."""

import codecs
import gzip

import pytest

import incrowd
from incrowd.encoding.sources import certain_encoding, likely_encoding

SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 4,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [
            {"id": "a", "type": "choice", "options": ["don’t know", "10 € – 20 €", "größer", "x"]}
        ],
    }
)
CELLS = ["don’t know", "10 € – 20 €", "größer", "x"] * 3
TEXT = "\n".join(["a;b", *(f"{cell};1" for cell in CELLS)])


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("start", ["", "sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_windows_1252_is_suggested_with_a_sample(tmp_path, name, start):
    content = (start + TEXT).encode("cp1252")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for act in (incrowd.draft, lambda path: incrowd.load_answers(path, SURVEY)):
        with pytest.raises(incrowd.AnswersError, match=r"cp1252.*don’t know"):
            act(path)
    answers = incrowd.load_answers(path, SURVEY, encoding="cp1252")
    assert answers["a"].to_pylist() == CELLS
    assert certain_encoding(path) == "cp1252"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_at_the_beginning_states_the_encoding(tmp_path, encoding):
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    marks |= {"utf-32-le": codecs.BOM_UTF32_LE, "utf-32-be": codecs.BOM_UTF32_BE}
    for separator, ending in ((";", "csv"), ("\t", "txt")):
        path = tmp_path / f"a.{ending}"
        path.write_bytes(marks[encoding] + TEXT.replace(";", separator).encode(encoding))
        assert incrowd.load_answers(path, SURVEY)["a"].to_pylist() == CELLS
        assert incrowd.draft(path).people == len(CELLS)


WESTERN = [
    "Müller – “ja”",
    "Ça va, l’été",
    "¿Qué? 20 €",
    "Straße; größer",
    "œuvre d’art…",
    "smørrebrød på tallerken",
]
OTHERS = {
    "Polish": ("cp1250", "święta żółw łąka źródło"),
    "Russian": ("cp1251", "Привет, как дела"),
    "Greek": ("cp1253", "καλημέρα σας"),
    "French of DOS": ("cp850", "très élégant, où ça"),
    "German of DOS": ("cp437", "größer, schön, Übung"),
    "German of Macintosh": ("mac-roman", "größer, schön, Übung"),
    "Japanese": ("shift-jis", "はい、そうです"),
    "Czech": ("cp1250", "řeka čeština ěšč"),
    "Turkish": ("cp1254", "şeker ığdır"),
}


@pytest.mark.parametrize("text", WESTERN)
def test_western_texts_are_certain(text):
    assert likely_encoding(text.encode("cp1252")) == ("cp1252", True)


@pytest.mark.parametrize("name", OTHERS)
def test_texts_of_other_encodings_are_not_certain(name):
    encoding, text = OTHERS[name]
    assert not likely_encoding(text.encode(encoding))[1]
