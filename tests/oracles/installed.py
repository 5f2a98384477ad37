"""Every command, as run by someone who installed incrowd with some of its extras, or with none.

`run_commands` runs them in another process: with the Python of such an environment, or with this
one, in which the modules of missing extras cannot be imported (`missing_modules`).
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.csv
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.protocol.bundle import TIME
from tests.oracles import mixers

ROOT = Path(__file__).parents[2]
PROJECT, ACCOUNTANT = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for folder in (".", "packages/accountant")
)
HERE = {project["name"]: project for project in (PROJECT, ACCOUNTANT)}
INCLUDED = {"studio": {"collect", "stats"}}  # the extras that an extra contains

SURVEY = """name = "x"
crowd = 40
privacy = {epsilon = 3.0, delta = 0.01}
question = [{id = "ill", type = "yesno"}, {id = "old", type = "yesno"}]
table = [{questions = ["ill", "old"]}]
message = [{questions = ["ill", "old"]}]
"""
INTERVIEWS = """name = "x"
device = {kind = "die"}
question = [
    {id = "ill", type = "yesno", design = {kind = "forced", yes = "1/6", no = "1/6"}},
    {id = "poor", type = "yesno", design = {kind = "forced", yes = "1/6", no = "1/6"}},
]
"""
PEOPLE = 60  # a release needs 20 more than the crowd

# Name -> what is typed, in this order. `received` is a release of two mixers, with its receipt.
LOCAL = {
    "new": "new --question Old?yes/no --yes -o new.toml",
    "example": "example department -o example",
    "init": "init answers.csv -o drafted.toml",
    "check": "check survey.toml answers.csv",
    "plan": "plan survey.toml -o plan.json --no-side-by-side",
    "randomize": "randomize plan.json answers.csv -o reports.parquet",
    "read": "read interviews.toml interviews.csv -o interviews.parquet",
    "interviews kit": "interviews kit interviews.toml -o kit --interviews 4",
    "interviews show": "interviews show interviews.parquet -o shown.html",
    "interviews estimate": "interviews estimate interviews.parquet -o shares.html",
    "interviews table": "interviews table interviews.parquet ill poor -o table.html",
    "interviews compare": "interviews compare interviews.parquet ill --by age --threshold 40",
    "interviews correlate": "interviews correlate interviews.parquet ill age -o correlations.html",
    "interviews honesty": "interviews honesty interviews.parquet ill poor --model always-no",
    "interviews sensitivity": "interviews sensitivity interviews.parquet ill -o curves.html",
    "interviews outcome": "interviews outcome interviews.parquet age~ill -o outcome.html",
    "interviews regress": "interviews regress interviews.parquet ill~1 -o regressed.html",
    "interviews power": "interviews power interviews.toml --difference 10% -o power.html",
    "tally": "tally plan.json reports.parquet -o tally.json",
    "simulate": "simulate survey.toml answers.csv --trials 20 --seed 1",
    "card": "card plan.json -o card.html",
    "page": "page service/bundle.json -o public",
    "collector init": "collector init collector",
    "open": "open 0.release --bundle service/bundle.json --key private.key -o again --workers 1",
    "confirm-clock": "confirm-clock {now} service",
    "privacy delta": "privacy delta --noise 0.3 --bits 1 --crowd 50 --epsilon 1",
    "privacy epsilon": "privacy epsilon --noise 0.3 --bits 1 --crowd 50 --delta 0.01",
    "privacy noise": "privacy noise --bits 1 --crowd 50 --epsilon 1 --delta 0.01",
    "privacy curve": "privacy curve --noise 0.3 --bits 1 --crowd 50 --points 3 -o curve.html",
    "ledger --new": "ledger ledger.json --new",
    "ledger": "ledger ledger.json plan.json received",
    "verify": "verify plan.json received",
    "estimate": "estimate plan.json received -o report.html",
    "compare": "compare plan.json received ill old -o compared.html",
    "correlate": "correlate plan.json received -o correlated.html",
    "regress": "regress plan.json received --outcome ill --on old --family linear -o model.html",
    "postprocess": "postprocess plan.json received -o proper.html",
}
# Extra -> the commands that need it. They may name missing files: the extra is looked for first.
NEEDING = {
    "collect": {
        "send": "send https://mix.invalid#0 missing.csv",
        "shuffler init": "shuffler init shuffler plan.json missing.toml",
        "shuffler run": "shuffler run missing",
        "shuffler check": "shuffler check missing",
        "invitations": "invitations 3 -o codes.csv --shuffler missing",
        "letters": "letters missing.json -o letters",
        "inviter init": "inviter init inviter plan.json missing.toml",
        "inviter run": "inviter run missing",
        "inviter check": "inviter check missing",
        "inviter invite": "inviter invite 3 -o codes.csv --inviter missing",
        "first-mixer init": "first-mixer init first",
        "first-mixer run": "first-mixer run missing",
        "first-mixer check": "first-mixer check missing",
        "second-mixer init": "second-mixer init second",
        "second-mixer run": "second-mixer run missing",
        "second-mixer check": "second-mixer check missing",
        "collector run": "collector run missing",
        "collector check": "collector check missing",
        "host": "host missing/shuffler.toml",
        "acknowledge": "acknowledge CODE missing",
        "demo --live": "demo --live --people 1",
    },
    "proved": {"verify --proved": "verify plan.json --proved"},
    "spark": {"estimate --engine spark": "estimate plan.json received --engine spark"},
    "stats": {
        "check answers.xlsx": "check survey.toml answers.xlsx",
        "check answers.sav": "check survey.toml answers.sav",
        "estimate -o report.xlsx": "estimate plan.json received -o report.xlsx",
    },
    "studio": {
        "estimate -o report.docx": "estimate plan.json received -o report.docx",
        "studio": "studio answers.csv/surveys --no-browser",
    },
}

RUNNER = """
import contextlib, io, json, sys
from incrowd.cli.app import main

done = {}
for name, words in json.load(sys.stdin).items():
    sys.argv[1:] = words.split()
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    done[name] = [code, err.getvalue()]
print(json.dumps(done))
"""
REFUSER = """
import sys

class Missing:
    names = frozenset({names!r})

    @classmethod
    def find_spec(cls, name, *_):
        if name.partition(".")[0] in cls.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)
"""


def prepare(folder):
    """Write what the commands read: a survey, answers, and a collection with two mixers."""
    (folder / "survey.toml").write_text(SURVEY)
    (folder / "interviews.toml").write_text(INTERVIEWS)
    (folder / "interviews.csv").write_text(
        "ill,poor,age\n" + "yes,no,30\nno,yes,41\nno,no,52\nyes,yes,41\n" * 20
    )
    plan = incrowd.plan(incrowd.Survey.load(folder / "survey.toml"))
    (folder / "plan.json").write_text(plan.dumps())
    answers = [(("no", "yes")[n % 3 > 0], ("no", "yes")[n % 2]) for n in range(PEOPLE)]
    columns = dict(zip(("ill", "old"), zip(*answers, strict=True), strict=True))
    pa.csv.write_csv(pa.table(columns), folder / "answers.csv")
    book = openpyxl.Workbook()
    for row in (columns, *answers):
        book.active.append([*row])
    book.save(folder / "answers.xlsx")
    (folder / "answers.sav").write_bytes(b"$FL2" + bytes(200))
    of = mixers.bundle(plan=plan, second=mixers.SECOND_CLASSICAL)
    people = [mixers.in_slots(of, [[bytes([n % 4])]]) for n in range(PEOPLE)]
    uploads = [mixers.upload(of, each) for each in people]
    batch, _ = mixers.batch(of, uploads)
    signed, body = mixers.release(of, mixers.opened(of, uploads, 0, mixers.SECOND_CLASSICAL), batch)
    file, key = folder / "0.release", mixers.COLLECTOR_KEY
    file.write_bytes(signed.encoded + body)
    open_release(file, len(signed.encoded), signed, of, key, folder / "received", workers=1)
    (folder / "private.key").write_bytes(key.secret)
    (folder / "service").mkdir()
    (folder / "service" / "bundle.json").write_bytes(of.encoded)
    return folder


def run_commands(folder, commands, python=sys.executable, missing=()):
    """Run commands in a folder. Returns the exit code and the standard error of each.

    missing: modules that cannot be imported, by any process that a command starts.
    """
    (folder / "refuser").mkdir(exist_ok=True)
    (folder / "refuser" / "sitecustomize.py").write_text(REFUSER.format(names=[*missing]))
    now = datetime.now(UTC).strftime(TIME)
    typed = {name: words.format(now=now) for name, words in commands.items()}
    own = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    own |= {"PYTHONPATH": str(folder / "refuser")} if missing else {}
    done = subprocess.run(
        [python, "-c", RUNNER],
        cwd=folder,
        env=own,
        input=json.dumps(typed),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_outcomes(done, extras):
    """Check that every command works that needs no other extra, and that others name theirs."""
    there = set(extras).union(*(INCLUDED.get(extra, ()) for extra in extras))
    for name, (code, text) in done.items():
        shown = f"{name}: exit code {code}\n{text}"
        extra = next((extra for extra, commands in NEEDING.items() if name in commands), None)
        if extra is None:
            assert code == 0, shown
        elif extra in there:
            assert "incrowd[" not in text and "bug" not in text, shown
        else:
            assert code == 2 and f'not installed; install "incrowd[{extra}]"' in text, shown


def missing_modules(extras=()):
    """Return the modules that are installed here, and not with incrowd and these extras alone."""
    there = _distributions(Requirement(f"incrowd[{','.join(extras)}]"))
    modules = importlib.metadata.packages_distributions()
    return sorted(
        name for name, of in modules.items() if there.isdisjoint(map(canonicalize_name, of))
    )


def _distributions(requirement):
    """Return the names of all distributions that are installed for a requirement."""
    known, waiting = set(), [requirement]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) not in known:
                known.add((name, extra))
                waiting += _required(name, extra)
    return {name for name, _ in known}


def _required(name, extra):
    if project := HERE.get(name):  # as it is now, not as it was installed
        listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
        return map(Requirement, listed)
    try:
        stated = map(Requirement, importlib.metadata.requires(name) or [])
    except importlib.metadata.PackageNotFoundError:  # of another system
        return []
    return [each for each in stated if not each.marker or each.marker.evaluate({"extra": extra})]
