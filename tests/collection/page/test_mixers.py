"""A survey with two mixers in Chromium: nothing is drawn twice, even if the page is closed."""

import base64
import shutil
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

import incrowd
from incrowd.collection.page import files
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.bundle import INNER_LABEL, TIME
from incrowd.collection.protocol.problem import KINDS, document
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.tokens import has_entry
from incrowd.collection.protocol.upload import parse_upload
from tests.oracles import mixers
from tests.oracles.node import has_browser
from tests.oracles.pages import hosted, in_browser, written

pytestmark = pytest.mark.slow  # they start a browser, as quick tests of the survey page do

CODES = ["A" * 16, "B" * 16, "M" * 16]  # the last of a person whom the inviter wants to recognize
AXE = "axeAsking", "axeDrawn", "axeSent"
SURVEY = {
    "name": "Two questions",
    "crowd": 2000,
    "privacy": {"epsilon": 1.0},
    "question": [
        {"id": "smokes", "type": "yesno", "text": "Do you smoke?"},
        {"id": "region", "type": "choice", "options": ["north", "south"], "text": "Where?"},
    ],
    "message": [{"questions": ["smokes"]}, {"questions": ["region"], "cells": True}],
}


@contextmanager
def stubs(bundle):
    """Inviter and first mixer, each under its name; they answer as the protocol says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answered(200, bundle.encoded)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.path.endswith("/tokens"):
                return self.answered(201)
            code = body[32:48].decode()
            if code not in CODES:
                kind = KINDS["code-unknown"]
                return self.answered(kind.status, document(kind))
            answer = bytearray(mixers.answer(body, bundle))
            if code == CODES[2]:
                answer[-1] ^= 1
            self.answered(200, answer)

        def do_DELETE(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answered(204)

        def answered(self, status, body=b""):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    return visit(tmp_path_factory.mktemp("mixers"))


def visit(folder, shots=None):
    """What a person saw at the page, and at one that stores nothing."""
    now = datetime.now(UTC)
    times = [(now + timedelta(days=days)).strftime(TIME) for days in (-1, 1, 2)]
    times = dict(zip(("opens", "closes", "disposes"), times, strict=True))
    bundle = mixers.bundle(incrowd.plan(incrowd.Survey.of(SURVEY)), **times)
    (folder / "bundle.json").write_bytes(bundle.encoded)
    content = files.asked_in(folder / "bundle.json", None)
    page = files.page_files(content, files.shipped())
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        stub = running.enter_context(stubs(bundle))
        host = running.enter_context(hosted(written(folder / "public", page)))
        patch.setattr(files, "_HERE", without_storage(folder / "page"))
        wrong = files.page_files(content, files.shipped())
        forgetful = running.enter_context(hosted(written(folder / "forgetful", wrong)))
        services = {"inviter": bundle.inviter.address, "first": bundle.first.address}
        given = {"page": host, "forgetful": forgetful, "stub": stub, "services": services}
        given |= {"digest": bundle.digest.hex(), "codes": CODES, "shots": shots}
        found = in_browser("mixers_page.mjs", given)
    return SimpleNamespace(**found, bundle=bundle, host=host)


def without_storage(folder):
    """The sources of a page that keeps what it drew only while it is open."""
    shutil.copytree(files._HERE, folder)
    outbox, right = folder / "static" / "outbox.js", "await storage.all(outbox.#digest)"
    text = outbox.read_text()
    assert text.count(right) == text.count("stored ?? drawn") == 1
    outbox.write_text(text.replace(right, "[]").replace("stored ?? drawn", "drawn"))
    return folder


class TestReading:
    def test_who_runs_what_and_who_could_cheat(self, seen):
        names = ["Works council", "University A", "University B", "Institute"]
        assert [name in text for name, text in zip(names, seen.runs, strict=True)] == [True] * 4
        together = [
            [],
            ["University A", "University B", "Institute"],
            ["Works council", "Institute"],
            ["University A", "Institute"],
            [],
        ]
        said = [[name for name in names if name in text] for text in seen.cheat]
        assert [sorted(each) for each in said] == [sorted(each) for each in together]
        assert seen.short == short(seen.bundle.digest)

    def test_axe_finds_no_violation(self, seen):
        assert {name: getattr(seen, name) for name in AXE} == {name: [] for name in AXE}
        assert not seen.tooWide

    def test_only_the_inviter_and_the_first_mixer_are_asked(self, seen):
        allowed = (seen.host, seen.bundle.inviter.address, seen.bundle.first.address)
        assert all(each["url"].startswith((*allowed, "about:blank")) for each in seen.asked)
        assert seen.complaints == []
        loaded = {each["url"].rpartition("/")[2] for each in seen.asked}
        assert {"mixers.js", "x-wing.js"} <= loaded


class TestSending:
    def test_interrupted_at_every_step_the_same_bytes_go_on(self, seen):
        requests, uploads = (seen.bodies[key] for key in ("POST /tokens", "POST /upload"))
        assert len(requests) > 2 and len(set(requests)) == 1
        assert len(uploads) > 2 and len(set(uploads)) == 1
        assert "not been accepted yet" in seen.drawnBefore and seen.questions == 0
        assert "noch nicht angenommen" in seen.german
        assert "same sealed answers" in seen.noTokens and "same sealed answers" in seen.noUpload
        assert seen.sent == "Your answers were sent"

    def test_a_page_that_stores_nothing_draws_again(self, seen):
        assert len(set(seen.forgotten)) == 2

    def test_only_a_mark_is_left_on_the_device(self, seen):
        assert seen.storedBefore == [["closes", "key", "sealed"]]
        assert seen.storedAfter == [["closes", "key"]]

    def test_the_upload_is_admitted_and_opened(self, seen):
        bundle = seen.bundle
        upload = parse_upload(base64.b64decode(seen.bodies["POST /upload"][0]), bundle)
        assert has_entry(upload, bundle)
        reports = mixers.opened(bundle, [upload])
        assert all(report.is_valid(bundle, 0) for report in reports)
        assert sorted(report.message for report in reports) == list(bundle.slot_messages)
        key = bundle.key, bundle.binding(0), INNER_LABEL
        for report in reports:
            plaintext = unseal(report.inner, mixers.COLLECTOR_KEY, *key)
            inside = bundle.shape.read(plaintext).message  # None of a dummy
            assert inside in (report.message, None)

    def test_taken_back_for_good(self, seen):
        assert "cannot answer again" in seen.withdrawn
        assert set(seen.bodies["DELETE /upload"]) == set(seen.bodies["POST /upload"])


class TestFailures:
    def test_a_marked_token_is_not_used(self, seen):
        assert "nothing was sent" in seen.marked
        assert seen.markedBodies["POST /tokens"] and not seen.markedBodies["POST /upload"]

    def test_a_mistyped_invitation_draws_and_blinds_nothing_anew(self, seen):
        assert "not recognized" in seen.unknown and not seen.codeAsked
        *wrong, right = map(base64.b64decode, seen.corrected["POST /tokens"])
        assert {each[32:48] for each in wrong} == {b"0" * 16} and right[32:48] == b"B" * 16
        assert {each[:32] + each[48:] for each in wrong} == {right[:32] + right[48:]}
        assert len(set(seen.corrected["POST /upload"])) == 1

    def test_another_bundle_is_refused(self, seen):
        assert "not the survey" in seen.another
