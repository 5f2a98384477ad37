"""What other pages, other servers of this machine, hostile files and full disks cannot do."""

import asyncio
import errno
import gzip
import io
import os
import tempfile
import time
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pyreadstat
import pytest

from incrowd.encoding.formats.registry import FORMATS
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import mode_of
from incrowd.studio import access, imports, watching
from incrowd.studio.app import application
from incrowd.studio.document import version
from incrowd.studio.operations import SetValue
from incrowd.studio.projects import Projects
from incrowd.studio.work import Job
from tests.conftest import one_in, slowly
from tests.oracles import hostile_reader
from tests.oracles.studio import PORT

TEXT = """name = "Work"
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "tired"
type = "yesno"
"""
HOSTILE = ("", "-1", "9" * 5000, "\0", "²", "../../etc/passwd", "<script>", "=1+1", "nan", "1e999")


@pytest.fixture
def project(studio):
    return studio.projects.create("Work", TEXT)


# --- the browser ----------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ['x={"a":1}', "a b", "é=1", "x[y]=1", f"incrowd-studio-{PORT}=x"])
def test_cookies_of_other_servers_do_not_lock_the_person_out(browser, keys, other):
    # Browsers send the cookies of all ports, and the parser of http.cookies gives up on some.
    mine = f"{keys.cookie}={keys.session}"
    for cookie in (f"{other}; {mine}", f"{mine}; {other}"):
        browser.cookies.clear()
        headers = {"Cookie": cookie.encode()}
        assert browser.get("/", headers=headers).status_code == 200
    assert browser.get("/", headers={"Cookie": other.encode()}).status_code == 403


def test_every_address_refuses_a_stranger_and_another_site(browser, studio, keys):
    # A new route cannot be forgotten: all of them are tried, and nothing may have changed.
    app = application(studio, keys)
    stranger = type(browser)(app)
    methods = {"GET": 403, "POST": 403, "HEAD": 403, "OPTIONS": 403, "TRACE": 403, "PUT": 403}
    sites = {"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"}
    paths = [each.path.replace("{", "").replace("}", "") for each in app.routes]
    assert len(paths) > 20
    for path in set(paths) - {"/"}:
        for method, status in methods.items():
            assert stranger.request(method, path).status_code == status, path
            assert browser.request(method, path, headers=sites).status_code == status, path
    assert browser.post("/", headers=sites).status_code == 403
    assert studio.projects.names() == ()


def test_the_secret_of_the_preview_opens_nothing_else(stranger, keys, project):
    text = version(project.text())
    secret = f"/preview/{keys.preview}"
    assert stranger.get(f"{secret}/{project.name}/{text}/bundle").status_code != 403
    for path in (
        f"{secret}/../../p/{project.name}/design",
        f"/preview/x/{project.name}/{text}/bundle",
        f"/p/{project.name}/design?preview={keys.preview}",
    ):
        assert stranger.get(path).status_code in (403, 404)
        assert b"tired" not in stranger.get(path).content
    assert stranger.post(f"{secret}/{project.name}/{text}/bundle").status_code == 403


@pytest.mark.parametrize("back", ["//evil.example", "/\\evil.example", "https://evil.example", ""])
def test_the_choice_of_a_language_leads_nowhere_else(browser, back):
    response = browser.post("/language", data={"language": "de", "back": back})
    assert httpx.URL("http://here/").join(response.headers["location"]).host == "here"


# --- what is sent ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("multipart/form-data; boundary=x", "MOST_UPLOADED"),
        ("application/x-www-form-urlencoded", "MOST_SENT"),
    ],
)
def test_a_body_without_end_is_dropped_and_explained(browser, studio, monkeypatch, kind, limit):
    monkeypatch.setattr(access, limit, 10_000)
    sent = 0

    async def body():
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(100):
            sent += 1
            yield b"x" * 1000

    headers = {"Content-Type": kind}
    response = browser.post("/import", content=body(), headers=headers)
    assert response.status_code == 422 and sent == 100
    assert "is longer than" in response.text
    assert list(studio.projects.folder.iterdir()) == []


def test_hostile_values_in_every_form_are_no_fault_of_ours(browser, project):
    for value in HOSTILE:
        for action in ("survey", "add", "question", "order", "tables", "table", "regression"):
            names = ("short_name", "of", "place", "row", "pair", "crowd", "epsilon", "at", "order")
            form = {"do": action, "seen": version(project.text())} | dict.fromkeys(names, value)
            assert browser.post("/p/work/design", data=form).status_code in (303, 409, 422)
        query = {"regression": value, "open": value, "source": value, "number": value}
        for page in ("design", "results", "results/picture", "watch/state", "precision"):
            response = browser.get(f"/p/work/{page}", params=query)
            assert response.status_code < 500 and "<script>" not in response.text


def test_a_fault_is_named_without_a_traceback(browser, project, monkeypatch):
    def fault(*_):
        raise ZeroDivisionError("<b>")

    monkeypatch.delenv("INCROWD_DEBUG", raising=False)
    monkeypatch.setattr("incrowd.studio.home.summary", fault)
    response = browser.get("/")
    assert response.status_code == 500 and "ZeroDivisionError" in response.text
    assert "Traceback" not in response.text and "<b>" not in response.text
    assert "frame-ancestors" in response.headers["content-security-policy"]
    monkeypatch.setenv("INCROWD_DEBUG", "1")  # for who mends it; the client hides what is raised
    assert "ZeroDivisionError" not in browser.get("/").text


def test_a_text_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "MOST_UNPACKED", 3 << 20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" * (1 << 20)))
    with pytest.raises(UsageError, match="when it is unpacked"):
        imports.check_unpacked(path)
    path.write_bytes(path.read_bytes()[:500])  # damaged: the reader says so
    imports.check_unpacked(path)


def expanding(name):
    """A small file that takes more than 256 MiB when it is read."""
    file = io.BytesIO()
    if name.endswith("parquet"):
        column = pa.array([1]).take(pa.array(np.zeros(40 << 20, np.int32)))
        pa.parquet.write_table(pa.table({"a": column}), file)
    elif name.endswith("zsav"):
        with tempfile.NamedTemporaryFile(suffix=".zsav") as written:
            pyreadstat.write_sav(
                pd.DataFrame({"a": np.zeros(9 << 20)}), written.name, compress=True
            )
            return Path(written.name).read_bytes()
    else:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", b" " * (257 << 20))
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bomb.xlsx", *slowly("bomb.parquet", "bomb.zsav")])
def test_a_file_that_takes_too_much_memory_is_refused(browser, studio, monkeypatch, name):
    monkeypatch.setenv("INCROWD_READ_MIB", "256")
    content = expanding(name)
    assert len(content) < 1_000_000
    response = browser.post("/import", files={"file": (name, content)})
    assert response.status_code == 422
    assert f"got &#39;{name}&#39;; reading it takes more than 256 MiB of memory" in response.text
    assert [*studio.projects.folder.iterdir()] == []


@pytest.mark.parametrize("act", one_in(4, ["crash", "take_memory", "loop", "fail"]))
def test_a_file_that_breaks_its_reader_does_not_end_the_studio(browser, studio, monkeypatch, act):
    monkeypatch.setitem(FORMATS, "hostile", hostile_reader.HOSTILE)
    monkeypatch.setenv("INCROWD_READ_MIB", "256")
    if act == "loop":
        monkeypatch.setenv("INCROWD_READ_SECONDS", "1")
    response = browser.post(
        "/import", files={"file": ("a.hostile", hostile_reader.MAGIC + act.encode())}
    )
    assert response.status_code == 422 and "got &#39;a.hostile&#39;; " in response.text
    assert [*studio.projects.folder.iterdir()] == []
    assert browser.get("/").status_code == 200


def test_a_dashboard_that_dribbles_is_left(monkeypatch):
    # Each byte is in time, so that only a limit of the whole ends it.
    class Dribbling(httpx.AsyncByteStream):
        async def __aiter__(self):
            while True:
                yield b" "
                await asyncio.sleep(0.01)

    monkeypatch.setattr(watching, "SECONDS", 0.1)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Dribbling()))
    begun = time.monotonic()
    with pytest.raises(IncrowdError, match="too slow"):
        watching.fetched("https://count.example", "token", transport)
    assert time.monotonic() - begun < 2


# --- files ----------------------------------------------------------------------------------------


def test_a_survey_keeps_its_mode_and_its_place(project, tmp_path):
    elsewhere = tmp_path / "shared.toml"
    project.survey_path.rename(elsewhere)
    elsewhere.chmod(0o600)
    project.survey_path.symlink_to(elsewhere)
    project.change(SetValue(("crowd",), 2000), expected=version(TEXT))
    assert "crowd = 2000" in elsewhere.read_text() and project.survey_path.is_symlink()
    assert elsewhere.stat().st_mode & 0o777 == 0o600


def test_a_new_survey_obeys_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        project = Projects(tmp_path).create("Secret", TEXT)
        assert project.survey_path.stat().st_mode & 0o777 == 0o600
        assert mode_of(tmp_path / "new") == 0o600 and os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert project.path.stat().st_mode & 0o777 == 0o700


def test_what_a_killed_process_had_begun_goes_and_what_is_being_written_stays(project, studio):
    folder = studio.projects.folder
    old = [folder / ".incrowd-1", *(p / ".incrowd-2" for p in (project.path, project.hidden))]
    old.append(project.hidden / "versions" / ".incrowd-3")
    for path in old[1:]:
        path.touch()
    old[0].mkdir()
    (old[0] / "upload").touch()
    for path in old:
        os.utime(path, (1, 1))
    new = project.path / ".incrowd-4"
    new.touch()
    studio.projects.sweep()
    assert new.exists() and not any(path.exists() for path in old)
    assert project.text() == TEXT and studio.projects.names() == ("work",)


@pytest.mark.parametrize(
    "damage", ["garbage", "folder", "long", "deep", "gone", "a link to itself"]
)
def test_a_survey_that_changes_underneath_is_explained_on_every_page(browser, project, damage):
    path = project.survey_path
    path.unlink()
    if damage == "garbage":
        path.write_bytes(b"\xff\xfe\0")
    elif damage == "folder":
        path.mkdir()
    elif damage == "long":
        path.write_bytes(b"# aaaaaaa\n" * 1_800_000)
    elif damage == "deep":
        path.write_text("a = " + "[" * 100_000)
    elif damage == "a loop":
        path.symlink_to(path)
    for page in ("design", "precision", "publish", "publish/rehearsal", "watch", "results"):
        response = browser.get(f"/p/work/{page}")
        assert response.status_code in (200, 422), page
        assert "this is a bug" not in response.text
    assert browser.get("/").status_code == 200
    form = {"do": "survey", "crowd": "3000", "seen": version(TEXT)}
    assert browser.post("/p/work/design", data=form).status_code in (409, 422)


@pytest.mark.parametrize(
    ("code", "works"), [(errno.ENOSPC, "make room"), (errno.EACCES, "allow yourself")]
)
def test_what_the_system_refuses_says_what_would_work(browser, project, monkeypatch, code, works):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code), "survey.toml")

    monkeypatch.setattr("incrowd.studio.projects.write_bytes", refuse)
    form = {"do": "survey", "crowd": "3000", "name": "Work", "seen": version(TEXT)}
    response = browser.post("/p/work/design", data=form)
    assert response.status_code == 422 and works in response.text
    assert os.strerror(code) in response.text and project.text() == TEXT


@pytest.mark.parametrize("page", ["publish", "publish/rehearsal"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), UsageError.of("path", "shared.no-path", type="x")]
)
def test_a_job_that_failed_does_not_close_its_page(browser, studio, project, page, error):
    # Templates are strict: a field that only one kind of error has would be a fault.
    name = "plan" if page == "publish" else "rehearsal"
    studio.jobs._jobs[project.path, name] = Job(state="failed", error=error)
    response = browser.get(f"/p/work/{page}")
    assert response.status_code == 200
    assert ("make room" if isinstance(error, OSError) else "path: got") in response.text
