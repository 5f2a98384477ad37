"""The demonstration over a network: what it says is what was sent, opened and estimated."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import in_node, parties, rehearsal
from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.protocol.signed import Signed
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError
from tests.conftest import cells_survey, run

PEOPLE = 120


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What `demo --live --json` prints, and where it wrote."""
    folder = tmp_path_factory.mktemp("live")
    done = run("demo", "--live", "--people", PEOPLE, "--json", "-o", folder / "demo")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder / "demo"


@pytest.mark.slow
def test_everybody_is_counted_once(shown):
    facts, folder = shown
    receipt, bundle = load_receipt(folder / "reports")
    assert facts["people"] == receipt.people == receipt.opened_people == PEOPLE
    assert facts["sealed_reports"] == receipt.reports == PEOPLE * bundle.places
    assert facts["rejected"] == 0 and facts["uploads_per_second"] > 0
    assert facts["receipt"] | {"people": PEOPLE, "reports": receipt.reports} == facts["receipt"]
    assert receipt.issued == receipt.used == PEOPLE and receipt.contradictions == []


@pytest.mark.slow
def test_the_signature_is_one_of_the_shuffler(shown):
    facts, folder = shown
    receipt, bundle = load_receipt(folder / "reports")
    assert facts["receipt"]["signatures_valid"] is True and receipt.signed.is_of(bundle.signer)
    other = Signed(bytes(64), receipt.signed.header)
    assert not other.is_of(bundle.signer)


@pytest.mark.slow
def test_the_tables_are_those_of_the_reports(shown):
    """`estimate` on what was written gives the same tables."""
    facts, folder = shown
    done = run("estimate", folder / "plan.json", folder / "reports", "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    for one, other in zip(facts["tables"], again["tables"], strict=True):
        bare = [{k: v for k, v in cell.items() if k != "truth"} for cell in one["cells"]]
        assert bare == other["cells"] and one["questions"] == other["questions"]
    assert facts["guarantee"]["crowd"] == PEOPLE - 20


@pytest.mark.slow
def test_nothing_of_the_senders_is_left(shown):
    """No invitation stands in any file; the store's key is gone; no process, no folder stays."""
    facts, folder = shown
    assert facts["codes_found"] == 0 and facts["key_destroyed"] is True
    assert {file.name for file in folder.iterdir()} == {"plan.json", "report.html", "reports"}
    page = (folder / "report.html").read_text()
    assert "Receipt of stratum" in page


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A rehearsal with two mixers: what came of it, and its folder."""
    plan = incrowd.plan(cells_survey(list("ab"), crowd=30, epsilon=4.0, delta=1e-3))
    people = EncodedAnswers.of(plan.survey, pa.table({"home": ["a", "b"] * 26}))
    folder, program, ticks = tmp_path_factory.mktemp("mixed"), in_node.node(), []
    last = program and rehearsal.InNode(program, [{"home": each} for each in "ababab"])
    options = {"advance": ticks.append, "mixers": 2, "in_node": last}
    found = rehearsal.rehearse(plan, people, folder, **options)
    assert len(ticks) == 52
    return found, folder


@pytest.mark.slow
def test_two_mixers_count_everybody_once(mixed):
    """All that was sealed was opened, with a token of its message; the inviter says the same."""
    found, _ = mixed
    [receipt] = found.receipts
    places = found.bundle.places
    assert found.crowd.stored == receipt.people == receipt.opened_people == 52
    assert receipt.tokens == [52 * slots for slots in found.bundle.slots]
    assert sum(receipt.tokens) == receipt.reports == receipt.accepted == 52 * places
    assert receipt.issued == receipt.used == 52 and not any(receipt.rejected.values())


@pytest.mark.slow
def test_both_clients_send_if_node_is_installed(mixed):
    found, _ = mixed
    both = {"Python": 46, "TypeScript": 6} if in_node.node() else {"Python": 52}
    assert found.clients == both and found.crowd.people == 52


@pytest.mark.parametrize("version", ["v19.9.0", "v20.0.0", "x"])
def test_node_is_used_from_version_20_on(tmp_path, monkeypatch, version):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert in_node.node() is None
    program = tmp_path / "node"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    assert in_node.node() == (str(program) if version == "v20.0.0" else None)


@pytest.mark.slow
def test_a_client_that_stops_is_said(mixed, tmp_path):
    """It sends nothing and writes what is no outcome; the demonstration does not go on."""
    found, _ = mixed
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho closed; exit 1\n")
    program.chmod(0o755)
    answers, codes = [{"home": "a"}] * 3, [b"0" * 16] * 3
    given = str(program), found.bundle, answers, codes, [0] * 3, lambda _: None
    with in_node.sending_in_node(*given) as sent:
        crowd = sent()
    assert crowd.refused == {"closed": 1, in_node.STOPPED: 2} and crowd.stored == 0
    with pytest.raises(ProtocolError, match="were refused"):
        rehearsal._check_all_came(crowd)


@pytest.mark.slow
def test_four_services_destroy_their_keys_and_know_no_invitation(mixed):
    found, folder = mixed
    assert found.key_destroyed and found.codes_found == 0
    keys = [str(path.relative_to(folder)) for path in folder.rglob("*.key")]
    assert keys == ["first-mixer/signing.key"], "it signs, and opens nothing"
    assert not (folder / "inviter" / "tokens.txt").exists()
    services = {"inviter", "first-mixer", "second-mixer", "collector"}
    assert {path.name for path in folder.iterdir() if path.is_dir()} == services


@pytest.mark.slow
def test_two_mixers_on_one_machine_promise_the_local_guarantee(mixed):
    """What would hold with four organizations is said, and is more."""
    found, _ = mixed
    elsewhere = bundle_guarantee(parties.with_separate_parties(found.bundle))
    here = found.promise.guarantee
    assert "one-party" in here.reduced_by and "one-party" not in elsewhere.reduced_by
    assert elsewhere.epsilon < here.epsilon
    seen = dict(rehearsal.what_each_saw(found))
    services = ("The inviter", "The first mixer", "The second mixer", "The collector")
    assert set(services) < seen.keys() and "The shuffler" not in seen
    assert "52 people who sent" in seen["The first mixer"]
    assert seen["Who can learn"] != seen["With separate organizations"]


@pytest.mark.slow
def test_a_thousand_people_send_through_two_mixers(tmp_path):
    options = ("--live", "--mixers", 2, "--people", 1000, "--json", "-o", tmp_path / "demo")
    done = run("demo", *options)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    receipt = facts["receipt"]
    assert facts["people"] == receipt["people"] == 1000 and receipt["signatures_valid"]
    assert sum(receipt["tokens"]) == facts["sealed_reports"] and facts["rejected"] == 0
    assert facts["uploads_per_second"] > 0 and len(facts["tables"]) > 1
    both = {"Python": 800, "TypeScript": 200}
    assert facts["clients"] == (both if in_node.node() else {"Python": 1000})
    for table in facts["tables"]:
        for cell in table["cells"]:
            assert abs(cell["estimate"] - cell["truth"]) < 6 * cell["standard_error"]


@pytest.mark.slow
def test_a_department_of_sixty_gets_a_release_with_little_noise(tmp_path):
    """60 of 80 who were invited came; both clients count the same, and nothing more is said of the
    reports than their published counts."""
    done = run("demo", "--live", "--people", 60, "--json", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["people"], facts["invited"]) == (60, 80)
    assert facts["published_noise"] <= 0.86
    assert not {"sealed_reports", "rejected"} & facts.keys()
    [table] = facts["tables"]
    for cell in table["cells"]:
        people = 60 * (cell["estimate"] - cell["truth"])
        assert abs(people) < 12 and abs(people - round(people)) < 1e-9
    assert facts["key_destroyed"] and not facts["codes_found"]


@pytest.mark.slow
def test_what_each_saw_is_said(tmp_path):
    done = run("demo", "--live", "--people", 60, "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for who in ("Each device", "The network", "The shuffler", "The collector", "Who can learn"):
        assert f"{who}: " in text
    assert (
        re.search(r"60 uploads of [\d,]+ bytes each", text) and "Receipt of stratum" in done.stderr
    )


def test_a_code_in_a_file_would_be_found(tmp_path):
    code = b"0123456789ABCDEF"
    (tmp_path / "log").write_bytes(b"x" + code + b"\0")
    assert rehearsal._readable([code, b"G" * 16], tmp_path) == 1


@pytest.mark.slow
def test_cells_arrive_with_dummies(tmp_path):
    """A random number of reports, one length of all uploads; the estimate is within 5 errors."""
    options = list("abcd")
    plan = incrowd.plan(cells_survey(options, crowd=180, epsilon=4.0, delta=1e-3))
    said = np.repeat(options, [120, 40, 25, 15])
    people = EncodedAnswers.of(plan.survey, pa.table({"home": said}))
    ticks = []
    found = rehearsal.rehearse(plan, people, tmp_path, advance=ticks.append)
    [receipt], [opened] = found.receipts, found.opened
    assert sum(receipt.dummies) > 0 and receipt.people == len(ticks) == 200
    assert found.crowd.sealed_reports == receipt.reports == 200 * found.bundle.places
    estimates = incrowd.estimate(plan, incrowd.load_reports(opened))
    (table,) = estimates.tables
    away = np.abs(table.estimate - np.array([120, 40, 25, 15]) / 200)
    assert (away < 5 * table.standard_error).all()


@pytest.mark.slow
def test_services_end_with_whoever_started_them(tmp_path):
    """Killed while it runs: shuffler and collector do not stay."""
    command = [sys.executable, "-c", "from incrowd.cli import main; main()", "demo", "--live"]
    place = ["--people", "4000", "-o", str(tmp_path / "demo")]
    process = subprocess.Popen([*command, *place], stderr=subprocess.DEVNULL)
    try:
        started = waited(lambda: process.poll() is not None or services(process.pid), LONG)
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
        waited(lambda: not any(map(alive, started)))
    finally:
        process.kill()
        process.wait()


def services(pid):
    """The processes that one started, those in turn included, as soon as both services run.

    They are copies of one process, which has imported what they need.
    """
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True).stdout
    parents = {int(one): int(parent) for one, parent in map(str.split, listed.splitlines())}
    children = [one for one, parent in parents.items() if parent == pid]
    copies = [one for one, parent in parents.items() if parent in children]
    return [*children, *copies] if len(copies) == 2 else None


def alive(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


LONG = 900  # seconds that a busy machine may take to plan and to start everything


def waited(found, seconds=60):
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return result


def test_the_plan_is_for_whom_a_release_needs():
    for people in (50, 500, 2000, 2001, 20190):
        crowd = rehearsal.crowd_of(people)
        assert crowd + rehearsal.least_reserve(crowd) <= people
    assert rehearsal.crowd_of(2000) == 1980
