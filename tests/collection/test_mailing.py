"""Invitations for people: lists, files for mail programs, letters to print, and QR codes."""

import csv
import html
import io
import json
import os
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.collection.invitations import hand_out, keep, remaining
from incrowd.collection.mailing import (
    AddressList,
    address_list,
    handed_out,
    letter_bytes,
    letter_facts,
    letter_of,
    table_bytes,
)
from incrowd.collection.mixer import setup
from incrowd.collection.protocol.addresses import BY_HAND, Link, grouped, short
from incrowd.collection.protocol.upload import RANDOM_BYTES, code_field, new_code
from incrowd.collection.settings import ShufflerSettings
from incrowd.errors import UsageError
from incrowd.presentation.letters import (
    LetterStyle,
    filled,
    letter_text,
    mail_text,
    promise_in_two,
    reminder_text,
)
from incrowd.presentation.word_letters import merge_letter
from tests.oracles import mixers, qr
from tests.oracles.make_vectors import INVITED, OPEN, SHUFFLER
from tests.oracles.services import bundle as services_bundle

PAGE = "https://survey.example"
BERLIN = ZoneInfo("Europe/Berlin")
ENGLISH, GERMAN = LetterStyle("en", UTC), LetterStyle("de", BERLIN)
FACTS = letter_facts(INVITED, PAGE)
NAMES = ("letter", "mail", "reminder")
LEAST_CM, EMU = 2.5, 360_000  # of a QR code on paper; of a centimeter in Word
PEOPLE = AddressList(("Name", "email"), tuple((f"Ä {n}", f"{n}@x.example") for n in range(40)))


def letters(number=3):
    """Invitations as they are created, in order."""
    codes = [new_code(os.urandom(RANDOM_BYTES)) for _ in range(number)]
    links = [Link(PAGE, INVITED.digest, code) for code in codes]
    return [letter_of(grouped(each.code), str(each), short(INVITED.digest)) for each in links]


def read(text, name="people.csv"):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = name
    return address_list(file)


def document(data):
    """The text of a Word document, its XML, and its pictures by the order in the text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        xml = archive.read("word/document.xml").decode()
        names = dict(
            re.findall(
                r'Id="(\w+)"[^>]*?Target="(media/[^"]+)"',
                archive.read("word/_rels/document.xml.rels").decode(),
            )
        ) | {
            id: target
            for target, id in re.findall(
                r'Target="(media/[^"]+)"[^>]*?Id="(\w+)"',
                archive.read("word/_rels/document.xml.rels").decode(),
            )
        }
        pictures = [archive.read(f"word/{names[id]}") for id in re.findall(r'r:embed="(\w+)"', xml)]
    paragraphs = [
        "".join(re.findall(r"<w:t[^>]*>([^<]*)</w:t>", part)) for part in xml.split("</w:p>")
    ]
    return html.unescape("\n".join(paragraphs)), xml, pictures


class TestAList:
    @pytest.mark.parametrize(
        "text",
        [
            "Name,Mail\nJörg,j@x.example\nAda,a@x.example\n",
            "\ufeffName,Mail\nJörg,j@x.example\n\nAda,a@x.example\n",
            "Name;Mail\nJörg;j@x.example\nAda;a@x.example\n".encode("cp1252"),
        ],
    )
    def test_of_a_spreadsheet_or_a_mail_program(self, text):
        assert read(text) == AddressList(
            ("Name", "Mail"), (("Jörg", "j@x.example"), ("Ada", "a@x.example"))
        )

    def test_of_excel_keeps_zeros(self):
        book, file = openpyxl.Workbook(), io.BytesIO()
        for row in (("Name", "Post code"), ("Jörg", "01067"), ("Ada", "20095")):
            book.active.append(row)
        book.save(file)
        assert read(file.getvalue(), "people.xlsx").rows == (("Jörg", "01067"), ("Ada", "20095"))

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("name,mail\n", "no people"),
            ("name\nAda\nBo\nAda\n", "rows 2 and 4"),
            ("name,mail\nAda,a@x.example\nBo,b@x.example\nAda L.,A@X.example\n", "rows 2 and 4"),
            ("name,Code\nAda,1\n", "Code"),
        ],
    )
    def test_that_cannot_be_invited_is_refused_without_names(self, text, named):
        with pytest.raises(UsageError, match=named) as refused:
            read(text)
        assert not re.search("Ada|Bo|x.example", str(refused.value), re.IGNORECASE)

    @pytest.mark.parametrize("beside", ["m@x.example", "Meier", "Accounting"])
    def test_has_a_last_person_who_is_called_max(self, beside):
        """In files of answers, a row "max" below the people is left out."""
        rows = (("Zoë", "z@x.example"), ("Eva", "e@x.example"), ("Max", beside))
        book, file = openpyxl.Workbook(), io.BytesIO()
        for row in (("Name", "more"), *rows):
            book.active.append(row)
        book.save(file)
        file.seek(0)
        text = "\n".join(map(",".join, (("Name", "more"), *rows)))
        for data in (file, io.BytesIO(text.encode())):
            assert address_list(data).rows == rows

    def test_is_not_shown_by_accident(self):
        assert "Ada" not in repr(read("name\nAda\n"))

    def test_people_get_invitations_in_an_order_that_nothing_else_has(self):
        """Twice the same order would be a matter of luck: 1 of 40!."""
        created = letters(len(PEOPLE.rows))
        first, second = (handed_out(PEOPLE, created) for _ in range(2))
        for given in (first, second):
            assert [each["Name"] for each in given] == [name for name, _ in PEOPLE.rows]
            assert {each["code"] for each in given} == {each["code"] for each in created}
            assert [each["code"] for each in given] != [each["code"] for each in created]
        assert first != second

    def test_invitations_are_handed_out_once(self, tmp_path):
        table, created = tmp_path / "codes.csv", letters(45)
        table.write_bytes(table_bytes(created, ".csv"))
        table.chmod(0o600)
        given = hand_out(table, PEOPLE)
        left = remaining(table)
        assert len(left) == 5 and os.listdir(tmp_path) == ["codes.csv"]
        assert {each["code"] for each in [*left, *given]} == {each["code"] for each in created}
        with pytest.raises(UsageError, match="40 people"):
            hand_out(table, PEOPLE)
        assert remaining(table) == left and table.stat().st_mode & 0o777 == 0o600
        keep(table, [])
        assert table.read_bytes() == b"link,code,digest\r\n" and remaining(table) == []


class TestTheFileForMailPrograms:
    def test_with_names_begins_with_the_mark_that_excel_needs(self):
        given = handed_out(PEOPLE, letters(40))
        data = table_bytes(given, ".csv")
        assert data.startswith(b"\xef\xbb\xbf")
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
        assert rows == given and list(rows[0]) == ["Name", "email", "link", "code", "digest"]
        assert table_bytes(letters(), ".csv").startswith(b"link,code,digest\r\n")

    def test_has_no_cell_that_a_spreadsheet_computes(self):
        """A person can call herself a formula, which would be computed when the file is opened."""
        names = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd|x", "-1+cmd|x", "\t=1", "\r=1"]
        plain = ["+49 (30) 123-456", "-", "-12", "Zoë O'Neill", "a=b", "x@y.example"]
        people = AddressList(("=1+1",), tuple((name,) for name in (*names, *plain)))
        table = table_bytes(handed_out(people, letters(len(people.rows))), ".csv")
        (heading, *_), *rows = csv.reader(io.StringIO(table.decode("utf-8-sig"), newline=""))
        assert heading == "'=1+1"
        assert [row[0] for row in rows] == [*(f"'{name}" for name in names), *plain]

    def test_as_a_workbook_has_only_text(self):
        people = AddressList(("name",), (("=1+1",), ("+49 30",)))
        given = handed_out(people, letters(2))
        sheet = openpyxl.load_workbook(io.BytesIO(table_bytes(given, ".xlsx"))).active
        cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
        assert cells == [list(given[0]), *(list(each.values()) for each in given)]
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s"}


class TestLetters:
    @pytest.mark.parametrize("layout", ["letters", "strips"])
    def test_in_word_have_a_page_or_a_strip_for_each_person(self, layout):
        given = handed_out(AddressList(("Name",), (("Jörg",), ("Ada & Bo",))), letters(2))
        text, xml, pictures = document(letter_bytes(FACTS, GERMAN, given, ".docx", layout=layout))
        for letter, picture in zip(given, pictures, strict=True):
            assert letter["Name"] in text and letter["code"] in text
            assert qr.read(qr.of_png(picture)) == (letter["link"], "M", 4)
        assert text.count(short(INVITED.digest)) == text.count(PAGE) // 2 == 2
        sides = {int(side) for pair in re.findall(r'cx="(\d+)" cy="(\d+)"', xml) for side in pair}
        assert min(sides) >= LEAST_CM * EMU
        assert xml.count("w:pageBreakBefore/>") == (1 if layout == "letters" else 0)
        assert xml.count("w:cantSplit") == 2

    @pytest.mark.parametrize("layout", ["letters", "strips"])
    def test_to_print_have_the_same(self, layout):
        given = handed_out(AddressList(("Name",), (("Jörg",), ("<Ada>",))), letters(2))
        page = letter_bytes(FACTS, GERMAN, given, ".html", layout=layout).decode()
        pictures = re.findall(r'<img src="([^"]+)"', page)
        for letter, picture in zip(given, pictures, strict=True):
            assert html.escape(letter["Name"]) in page and letter["code"] in page
            assert qr.read(qr.of_svg(html.unescape(picture))) == (letter["link"], "M", 4)
        widths = [float(cm) for cm in re.findall(r"img \{ width: ([\d.]+)cm", page)]
        assert len(widths) == 3 and min(widths) >= LEAST_CM
        assert "<Ada>" not in page and "http-equiv" not in page and "<script" not in page

    def test_state_what_people_need(self):
        text = letter_text(FACTS, ENGLISH)
        for stated in (INVITED.wording.title, PAGE, "mix.example", "November 30, 2026, 11:59 p.m."):
            assert stated in text
        assert promise_in_two(FACTS, ENGLISH) in text and "{" not in text
        named = letter_text(FACTS, ENGLISH, ["Name"])
        assert filled(named, {"Name": "Ada"}).count("Hello Ada,") == 1

    def test_braces_of_a_survey_are_not_taken_for_values(self):
        wording = INVITED.wording.model_copy(update={"title": "{link} {x}"})
        odd = letter_facts(INVITED.model_copy(update={"wording": wording}), PAGE)
        assert "{" not in letter_text(odd, ENGLISH) and "(link) (x)" in letter_text(odd, ENGLISH)

    def test_a_text_of_ones_own_is_used_for_each_person(self):
        given = letters(2)
        data = letter_bytes(FACTS, ENGLISH, given, ".docx", text="Come!\n\nYours: {link}")
        text, _, _ = document(data)
        assert all(f"Yours: {each['link']}" in text for each in given) and "Hello" not in text

    def test_for_the_mail_merge_of_word_have_fields(self):
        text, xml, pictures = document(merge_letter(FACTS, ENGLISH, ["Name", "Post code"]))
        fields = re.findall(r'w:instr=" ([^"]+) "', xml)
        assert fields == ["MERGEFIELD Name", "MERGEBARCODE link QR \\q 1", "MERGEFIELD code"]
        assert pictures == [] and "Hello «Name»," in text
        _, spaced, _ = document(
            merge_letter(FACTS, ENGLISH, ["Post code"], text="To {Post code}: {link}")
        )
        assert 'MERGEFIELD "Post code"' in html.unescape(spaced)

    def test_a_poster_has_the_link_of_all(self):
        facts = letter_facts(OPEN, PAGE)
        letter = letter_of("", facts.link, facts.short)
        text, _, (picture,) = document(
            letter_bytes(facts, ENGLISH, [letter], ".docx", layout="poster")
        )
        link = f"{PAGE}#{OPEN.digest.hex()}"
        assert qr.read(qr.of_png(picture))[0] == link and "Your invitation" not in text
        page = letter_bytes(facts, ENGLISH, [letter], ".html", layout="poster").decode()
        (address,) = re.findall(r'<img src="([^"]+)"', page)
        assert qr.read(qr.of_svg(html.unescape(address)))[0] == link
        assert link in reminder_text(facts, ENGLISH) and link in mail_text(facts, ENGLISH)


class TestWords:
    @pytest.mark.parametrize(
        ("zone", "language", "text"),
        [
            (UTC, "en", "December 6, 2026, 12:05 p.m. (UTC)"),
            (BERLIN, "de", "6. Dezember 2026, 13:05 Uhr (UTC+1)"),
            (ZoneInfo("America/New_York"), "en", "December 6, 2026, 7:05 a.m. (UTC-5)"),
            (ZoneInfo("Asia/Kolkata"), "de", "6. Dezember 2026, 17:35 Uhr (UTC+5:30)"),
        ],
    )
    def test_dates_are_those_of_the_reader(self, zone, language, text):
        time = datetime(2026, 12, 6, 12, 5, tzinfo=UTC)
        assert LetterStyle(language, zone).date(time) == text

    def test_summer_time(self):
        time = datetime(2026, 7, 6, 12, 5, tzinfo=UTC)
        assert "14:05 Uhr (UTC+2)" in LetterStyle("de", BERLIN).date(time)

    @pytest.mark.parametrize("style", [ENGLISH, GERMAN])
    def test_a_reminder_has_no_invitation(self, style):
        text = reminder_text(FACTS, style)
        assert PAGE in text and "#" not in text and "{" not in text

    def test_two_mixers_are_named(self):
        bundle = mixers.bundle()
        text = letter_text(letter_facts(bundle, PAGE), ENGLISH)
        for name in (bundle.runs.inviter, bundle.runs.first, bundle.runs.second):
            assert name in text
        assert bundle.runs.collector in text

    def test_what_protects_people_is_what_the_bundle_promises(self):
        """Nothing about mixing or about unseen invitations if one party sees everything."""
        alone = letter_facts(INVITED.model_copy(update={"local_only": True}), PAGE)
        text = letter_text(alone, ENGLISH)
        assert "only these changes protect you" in text and "Nobody who counts" not in text
        assert "Nobody who counts" in letter_text(FACTS, ENGLISH)
        services = letter_facts(services_bundle(), PAGE)
        assert "each add invented numbers" in promise_in_two(services, ENGLISH)
        read_by_one = letter_facts(services_bundle(local_only=True), PAGE)
        assert "can read them" in promise_in_two(read_by_one, ENGLISH)

    def test_a_collector_without_an_address_is_named_by_its_organization_only(self):
        """Its address ends in .invalid: releases are handed over as files."""
        addresses = INVITED.addresses.model_copy(update={"collector": BY_HAND})
        bundle = INVITED.model_copy(update={"addresses": addresses})
        text = letter_text(letter_facts(bundle, PAGE), ENGLISH)
        assert "invalid" not in text and "mix.example" in text
        assert "Institute" in letter_text(
            letter_facts(bundle, PAGE, {"collector": "Institute"}), ENGLISH
        )

    @pytest.mark.parametrize("alone", [True, False])
    def test_an_address_of_this_machine_names_nobody(self, alone):
        here = {"shuffler": "http://localhost:8100", "collector": "http://127.0.0.1:8101"}
        bundle = INVITED.model_copy(
            update={"addresses": INVITED.addresses.model_copy(update=here), "local_only": alone}
        )
        for style, said in ((ENGLISH, "tried out"), (GERMAN, "ausprobiert")):
            text = letter_text(letter_facts(bundle, PAGE), style)
            assert said in text and "localhost" not in text and "127.0.0.1" not in text
        named = {"shuffler": "University", "collector": "Institute"}
        text = letter_text(letter_facts(bundle, PAGE, named), ENGLISH)
        assert "Institute" in text and "tried out" not in text

    def test_a_promise_that_is_practically_none_says_so(self):
        """That of the vectors has an epsilon of 46; one of 1 is e times."""
        assert FACTS.guarantee.epsilon > 40
        assert "practically nothing is promised" in promise_in_two(FACTS, ENGLISH)
        guarantee = FACTS.guarantee.model_copy(update={"epsilon": 1.0, "delta": 1e-6})
        stronger = replace(FACTS, guarantee=guarantee)
        assert "at most 2.72 times as likely" in promise_in_two(stronger, ENGLISH)
        assert "höchstens 2,72-mal" in promise_in_two(stronger, GERMAN)
        assert "Wahrscheinlichkeit 0,000001" in promise_in_two(stronger, GERMAN)

    def test_a_promise_has_two_sentences(self):
        for bundle in (INVITED, mixers.bundle(), services_bundle()):
            for style in (ENGLISH, GERMAN):
                promise = promise_in_two(letter_facts(bundle, PAGE), style)
                assert len(re.findall(r"\.(?: |$)", promise)) == 2


def test_the_command_invites_the_people_of_a_list(tmp_path):
    folder = tmp_path / "shuffler"
    settings = ShufflerSettings(folder=folder)
    folder.mkdir(mode=0o700)
    setup.install(settings, INVITED, SHUFFLER)
    people = tmp_path / "people.csv"
    people.write_text("Name,Mail\n" + "".join(f"N{n},{n}@x.example\n" for n in range(5)))
    table, word, strips = (tmp_path / each for each in ("mail.xlsx", "l.docx", "s.html"))
    words = ("--people", people, "-o", table, "--letters", word, "--page", strips, "--json")
    more = ("--shuffler", folder, "--survey-page", PAGE, "--language", "de")
    result = CliRunner().invoke(app, ["invitations", *map(str, (*words, *more))])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["invitations"] == facts["issued"] == 5
    assert facts["files"] == [str(table), str(strips), str(word)]
    assert {path.stat().st_mode & 0o777 for path in (table, word, strips)} == {0o600}
    sheet = openpyxl.load_workbook(table).active
    head, *rows = ([cell.value for cell in row] for row in sheet.iter_rows())
    assert head == ["Name", "Mail", "link", "code", "digest"]
    text, _, pictures = document(word.read_bytes())
    for (name, _, link, code, _), picture in zip(rows, pictures, strict=True):
        assert f"Guten Tag, {name}," in text and code in text
        assert qr.read(qr.of_png(picture))[0] == link and Link.parse(link).address == PAGE
    store = setup.open_store(settings)
    assert store.issued() == 5
    unseen = b"".join(file.read_bytes() for file in folder.iterdir())
    assert not any(each in unseen for each in (b"N1,", b"@x.example"))
    assert not any(code_field(row[3]) in unseen for row in rows)
    store.engine.dispose()

    refused = CliRunner().invoke(app, ["invitations", "4", *map(str, (*words, *more))])
    assert isinstance(refused.exception, UsageError) and "number" in str(refused.exception)
    assert setup.open_store(settings).issued() == 5


class TestTheCommandForTexts:
    def written(self, tmp_path, bundle, *words):
        file, folder = tmp_path / "bundle.json", tmp_path / "letters"
        file.write_bytes(bundle.encoded)
        options = ("-o", folder, "--survey-page", PAGE, "--zone", "UTC", "--json", *words)
        result = CliRunner().invoke(app, ["letters", str(file), *map(str, options)])
        assert result.exit_code == 0, result.output
        facts = json.loads(result.stdout)
        assert facts["files"] == sorted(path.name for path in folder.iterdir())
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def test_writes_a_letter_a_mail_and_a_reminder_without_invitations(self, tmp_path):
        files = self.written(tmp_path, INVITED, "--language", "de")
        assert sorted(files) == ["letter.docx", "letter.txt", "mail.txt", "reminder.txt"]
        letter, mail, reminder = (files[f"{name}.txt"].decode() for name in NAMES)
        assert letter == f"{letter_text(FACTS, LetterStyle('de', UTC))}\n"
        assert mail.startswith("Einladung zur Umfrage: ") and mail.count("{link}") == 1
        assert reminder.startswith("Erinnerung: ") and "#" not in reminder + letter + mail
        assert "MERGEBARCODE" in document(files["letter.docx"])[1]

    def test_a_text_that_was_edited_is_that_of_the_letter(self, tmp_path):
        (tmp_path / "mine.txt").write_text("\ufeffCome, {name}!", encoding="utf-8")
        files = self.written(tmp_path, INVITED, "--text", tmp_path / "mine.txt")
        assert files["letter.txt"] == b"Come, {name}!\n"
        assert "Come, «name»!" in document(files["letter.docx"])[0]

    def test_writes_a_poster_if_anyone_may_answer(self, tmp_path):
        files = self.written(tmp_path, OPEN)
        assert sorted(files) == ["mail.txt", "poster.docx", "poster.html", "reminder.txt"]


def test_pictures_are_read_by_a_reader_that_sees_damage():
    (letter,) = letters(1)
    page = letter_bytes(FACTS, ENGLISH, [letter], ".html").decode()
    (address,) = re.findall(r'<img src="([^"]+)"', page)
    rows = qr.of_svg(html.unescape(address))
    rows[25][25] = not rows[25][25]
    with pytest.raises(AssertionError):
        qr.read(rows)
