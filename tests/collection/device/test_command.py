"""`incrowd send` against a shuffler that is played, over a real connection."""

import contextlib
import csv
import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pytest

from incrowd.cli import main
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.upload import new_code
from tests.conftest import run
from tests.oracles import make_vectors
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import CODE, Shuffler


@contextlib.contextmanager
def served(**changes):
    """A shuffler on loopback; its bundle has its address."""
    shuffler = Shuffler(None)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def handled(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = SimpleNamespace(
                method=self.command,
                url=SimpleNamespace(path=self.path),
                read=lambda: body,
                content=body,
                headers=self.headers,
            )
            with lock:
                answer = shuffler(request)
                content = answer.read()
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = handled

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        addresses = {"shuffler": address, "collector": "https://count.example"}
        shuffler.bundle = make_vectors.bundle(addresses=addresses, **changes)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield shuffler, lambda code="": str(Link(address, shuffler.bundle.digest, code))
        finally:
            server.shutdown()
            thread.join()


def written(path, rows, **more):
    table = {id: [row[id] for row in rows] for id in rows[0]} | more
    pa.csv.write_csv(pa.table(table), path)
    return path


def sent(folder, *arguments, memory="home"):
    """The command in this process, which is quicker to start."""
    words = ["incrowd", "send", *map(str, arguments), "--memory", str(folder / memory)]
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        contextlib.chdir(folder),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return SimpleNamespace(returncode=code, stdout=output.getvalue(), stderr=errors.getvalue())


def test_a_person_looks_sends_and_withdraws(tmp_path):
    answers = written(tmp_path / "answers.csv", ANSWERS[:1])
    with served() as (shuffler, link):
        printed = short(shuffler.bundle.digest)
        shown = sent(tmp_path, link(CODE), "--show", "--short", printed.lower())
        wrong = printed[:-1] + ("1" if printed.endswith("0") else "0")
        other = sent(tmp_path, link(CODE), "--show", "--short", wrong)
        assert other.returncode == 2 and "the link is for" in other.stderr
        assert shown.returncode == 0, shown.stderr
        assert shuffler.stored == {} and not (tmp_path / "home").exists()
        for words in (
            short(shuffler.bundle.digest),
            "guess about that person",
            "A made-up example",
        ):
            assert words in shown.stdout
        first = sent(tmp_path, link(CODE), answers, "--keep")
        assert first.returncode == 0 and "stored" in first.stderr, first.stderr
        assert len(shuffler.stored) == 1
        again = sent(tmp_path, link(CODE), answers)
        assert "not used" in again.stderr and len(shuffler.stored) == 1
        assert "stored until the collection closes" in again.stderr
        back = sent(tmp_path, link(CODE), "--withdraw")
        assert back.returncode == 0 and "you cannot answer again" in back.stderr
        assert shuffler.stored == {}
        anew = sent(tmp_path, link(CODE), answers, "--json")
        assert anew.returncode == 2 and "already answered" in anew.stderr
        assert len(set(shuffler.bodies)) == 1


def test_a_refused_person_is_told_that_her_answers_are_sealed_and_only_mends_the_code(tmp_path):
    answers = written(tmp_path / "answers.csv", ANSWERS[:1])
    others = written(tmp_path / "others.csv", ANSWERS[1:2])
    with served() as (shuffler, link):
        shuffler.unknown = {b"0" * 16}
        first = sent(tmp_path, link("0" * 16), answers)
        assert first.returncode == 1 and "stay sealed on this device" in first.stderr
        again = sent(tmp_path, link("0" * 16), others)
        assert again.returncode == 1
        for words in ("already sealed", str(others), "is not used", "with the right one"):
            assert words in again.stderr
        right = sent(tmp_path, link(), others, "--code", CODE, "--json")
        facts = json.loads(right.stdout)
        assert (facts["outcome"], facts["resumed"]) == ("stored", True)
        assert "is not used" in right.stderr
        (body,) = shuffler.stored.values()
        assert body[32:48] == CODE.encode()
        assert len({each[:32] + each[48:] for each in shuffler.bodies}) == 1


def test_json_says_what_is_promised_and_what_became_of_it(tmp_path):
    answers = written(tmp_path / "answers.csv", ANSWERS[:1])
    with served(codes=False) as (shuffler, link):
        done = run("send", link(), answers, "--json", "--memory", tmp_path / "home")
        found = json.loads(done.stdout)
        assert found["outcome"] == "stored" and found["sealed_reports"] == shuffler.bundle.places
        assert found["bundle"] == shuffler.bundle.digest.hex()
        assert found["promise"]["epsilon"] >= shuffler.bundle.plan.guarantee.epsilon
        twice = sent(tmp_path, link(), answers, "--json")
        assert twice.returncode == 2 and "already answered" in twice.stderr
    assert len(shuffler.stored) == 1


def test_the_code_stays_out_of_everything_that_is_shown(tmp_path):
    answers = written(tmp_path / "answers.csv", ANSWERS[:1])
    with served() as (shuffler, link):
        other = sent(tmp_path, link(CODE), answers)
        shuffler.closed = True
        refused = sent(tmp_path, link(CODE), answers, memory="other")
    assert refused.returncode == 1 and "may already be counted" in refused.stderr
    for found in (other, refused):
        assert CODE not in found.stdout + found.stderr
    assert CODE.encode() not in (tmp_path / "home" / "answered").read_bytes()


@pytest.mark.slow
def test_a_crowd_is_played_from_a_file(tmp_path):
    codes = [new_code(number.to_bytes(10)) for number in range(9)]
    answers = written(tmp_path / "answers.csv", [ANSWERS[row % 3] for row in range(9)])
    with open(tmp_path / "codes.csv", "w", newline="") as file:
        csv.writer(file).writerows([["code"], *([each] for each in codes)])
    with served() as (shuffler, link):
        found = sent(
            tmp_path, link(), answers, "--each-row", "--codes", tmp_path / "codes.csv", "--json"
        )
        facts = json.loads(found.stdout)
        again = sent(tmp_path, link(), answers, "--each-row", "--codes", tmp_path / "codes.csv")
    assert (facts["people"], facts["stored"], facts["refused"]) == (9, 9, {})
    assert facts["uploads_per_second"] > 0 and len(shuffler.stored) == 9
    assert again.returncode == 1 and "9 were refused: code-used" in again.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["https://mix.example"], "copy the whole link"),
        (["https://mix.example#abc", "{answers}"], "copy the whole link"),
        (["{link}", "none.csv"], "does not exist"),
        (["{link}", "{two}"], "2 rows"),
        (["{link}", "{answers}", "--stratum", "x"], "stratum"),
        (["{link}"], "name a file with your answers"),
        (["{link}", "--withdraw"], "--keep"),
    ],
)
def test_wrong_use_is_said(tmp_path, arguments, words):
    files = {
        "answers": written(tmp_path / "answers.csv", ANSWERS[:1]),
        "two": written(tmp_path / "two.csv", ANSWERS[:2]),
    }
    with served(codes=False) as (shuffler, link):
        found = sent(tmp_path, *(word.format(link=link(), **files) for word in arguments))
    assert found.returncode in (1, 2) and words in found.stderr, found.stderr
    assert "Traceback" not in found.stderr and shuffler.stored == {}


def test_no_shuffler_is_said_after_some_patience(tmp_path):
    answers = written(tmp_path / "answers.csv", ANSWERS[:1])
    link = Link("http://127.0.0.1:9", bytes(32))
    found = sent(tmp_path, link, answers, "--patience", "1")
    assert found.returncode == 1 and "did not respond" in found.stderr
    assert "trying again" in found.stderr
