"""The files of a survey page: what they pin, what they may load, and texts in every language."""

import base64
import hashlib
import json
import re
from html import unescape

import pytest
from typer.testing import CliRunner

import incrowd
from incrowd.cli.app import app
from incrowd.collection.page.files import PageContent, asked_in, page_files, read_strings, shipped
from incrowd.collection.protocol.problem import KINDS
from tests.oracles import mixers
from tests.oracles.make_vectors import INVITED

BUILT = "incrowd-sdk.js", "mixers.js", "x-wing.js"
HOSTILE = "</script><script>alert(1)</script>"
DATA = re.compile(r'<script type="application/json" id="(\w+)">(.*?)</script>', re.DOTALL)


def plan(**more):
    question = {"id": "smokes", "type": "yesno", "text": HOSTILE, **more}
    raw = {"name": HOSTILE, "crowd": 2000, "privacy": {"epsilon": 1.0}, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw))


@pytest.fixture(scope="module")
def files():
    asked = PageContent(
        plan(), ("https://mix.example:8443/survey",), plan().guarantee, "", HOSTILE, "en"
    )
    return page_files(asked, shipped() | {"xx": {"send": HOSTILE}})


def digest(name, data):
    return f"{name}-{base64.b64encode(hashlib.new(name, data).digest()).decode()}"


def test_every_script_and_style_is_pinned(files):
    html = files["index.html"].decode()
    pinned = dict(re.findall(r'(?:src|href)="([\w.]+)" integrity="([^"]+)"', html))
    pinned |= {
        name.removeprefix("./"): value
        for name, value in json.loads(import_map(html))["integrity"].items()
    }
    loaded = [name for name in files if name.endswith((".js", ".css"))]
    assert {name: digest("sha384", files[name]) for name in loaded} == pinned
    assert digest("sha256", import_map(html).encode()) in policy(html)


def import_map(html):
    return re.search(r'<script type="importmap">(.*?)</script>', html)[1]


def policy(html):
    return unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1])


def test_the_policy_names_the_shuffler_alone(files):
    said = policy(files["index.html"].decode())
    assert "default-src 'none'" in said and "'unsafe" not in said
    assert re.findall(r"https?://\S+", said) == ["https://mix.example:8443;"]
    for name in ("_headers", "nginx.conf", "Caddyfile"):
        text = files[name].decode()
        assert said in text and "frame-ancestors 'none'" in text and "no-referrer" in text


def test_no_text_of_a_survey_or_a_translation_is_markup(files):
    html = files["index.html"].decode()
    assert "alert(1)</script>" not in html
    found = {name: json.loads(text) for name, text in DATA.findall(html)}
    assert found["strings"]["xx"]["send"] == HOSTILE
    assert next(iter(found["strings"])) == "en"
    assert found["config"]["services"] == ["https://mix.example:8443/survey"]


def test_nothing_in_the_files_leads_elsewhere(files):
    for name, data in files.items():
        if name.endswith((".css", ".html")) or (name.endswith(".js") and name not in BUILT):
            found = set(re.findall(r"https?://[\w.:]+", data.decode()))
            assert found <= {"https://mix.example:8443"}, name


def test_no_script_writes_markup_or_runs_text(files):
    scripts = [data.decode() for name, data in files.items() if name.endswith(".js")]
    dangerous = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\("
    )
    assert not [found for text in scripts if (found := dangerous.search(text))]


@pytest.mark.parametrize("tag", sorted(shipped()))
def test_every_language_has_every_text_with_its_places(tag):
    english, other = shipped()["en"], shipped()[tag]
    places = re.compile(r"\{\w+\}")
    assert list(english) == list(other)
    for key, text in english.items():
        assert set(places.findall(text)) == set(places.findall(other[key])), key


def test_every_text_is_used_and_every_used_text_is_there(files):
    scripts = "".join(
        data.decode() for name, data in files.items() if name.endswith(".js") and name not in BUILT
    )
    known = set(shipped()["en"])
    said = set(re.findall(r'say\("([\w-]+)"', scripts))
    said |= set(re.findall(r'new Wrong\("(\w+)"', scripts))
    assert said <= known
    unused = {key for key in known if f'"{key}"' not in scripts and not key.startswith("error_")}
    assert unused == {"language"}


def test_every_answer_of_a_shuffler_has_a_sentence():
    """Those that say a page and its shuffler do not fit have the general one."""
    client = {
        "length",
        "bundle",
        "stratum",
        "sealed",
        "method",
        "media-type",
        "no-resource",
        "slow",
    }
    client |= {"signature", "release", "contradiction"}
    known = {key.removeprefix("error_") for key in shipped()["en"] if key.startswith("error_")}
    assert set(KINDS) - known <= client


def test_a_bundle_says_where_and_which(tmp_path):
    path = tmp_path / "bundle.json"
    path.write_bytes(INVITED.encoded)
    asked = asked_in(path, None)
    assert (asked.services, asked.digest) == ((INVITED.addresses.shuffler,), INVITED.digest.hex())
    assert (asked.title, asked.language) == (INVITED.wording.title, "en")


def test_with_two_mixers_the_page_contacts_the_inviter_and_the_first_mixer_alone(tmp_path):
    bundle = mixers.bundle(plan())
    path = tmp_path / "bundle.json"
    path.write_bytes(bundle.encoded)
    html = page_files(asked_in(path, None), shipped())["index.html"].decode()
    allowed = "https://invite.example https://first.example"
    assert f"connect-src {allowed};" in policy(html)
    assert allowed.split() == re.findall(r"https?://[^\s;]+", policy(html))
    config = {name: json.loads(text) for name, text in DATA.findall(html)}["config"]
    assert (config["services"], config["digest"]) == (allowed.split(), bundle.digest.hex())
    assert not config["promise"]["local_only"]
    alone = bundle.runs.model_copy(update={"first": "Institute", "second": "institute"})
    path.write_bytes(mixers.bundle(plan(), runs=alone.model_dump()).encoded)
    assert asked_in(path, None).guarantee.reduced_by[0] == "one-party"


def test_another_language_takes_every_text(tmp_path):
    texts = {key: f"fr {text}" for key, text in shipped()["en"].items()}
    (tmp_path / "fr.json").write_text(json.dumps(texts))
    assert read_strings(tmp_path / "fr.json") == ("fr", texts)


def test_the_command_writes_the_files(tmp_path):
    (tmp_path / "plan.json").write_text(plan(text="Do you smoke?").dumps())
    words = ["page", str(tmp_path / "plan.json"), "--shuffler", "https://mix.example"]
    found = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "public"), "--json"])
    assert found.exit_code == 0, found.stderr
    facts = json.loads(found.stdout)
    assert sorted(path.name for path in (tmp_path / "public").iterdir()) == facts["files"]
    assert (facts["languages"], facts["bundle"]) == (["de", "en"], None)
    assert facts["services"] == ["https://mix.example"]
