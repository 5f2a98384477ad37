"""The accountant is usable by itself: it loads nothing else of incrowd, and channels suffice."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd import accountant
from incrowd.errors import PrivacyError
from tests.conftest import slowly
from tests.oracles.source import nodes_of

SOURCE = Path(accountant.__file__).parent
# What `import incrowd` itself loads, whatever is used of it.
ALLOWED = {"incrowd", "incrowd.errors", "incrowd.characters", "incrowd.views", "incrowd.arguments"}
ALLOWED |= {"incrowd.catalog", "incrowd.catalog.sentences", "incrowd.methods"}

SHARED = ("incrowd.errors", "incrowd.arguments", "incrowd.views", "incrowd.catalog.sentences")


def test_it_imports_nothing_of_incrowd_but_errors_checks_and_views():
    for file in SOURCE.rglob("*.py"):
        for node in nodes_of(file.read_text()):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            ours = {name for name in names if name.split(".")[0] == "incrowd"}
            assert all(name in SHARED or name.startswith("incrowd.accountant") for name in ours), (
                file.name,
                ours,
            )


def test_using_it_loads_nothing_else_of_incrowd_and_no_pydantic():
    code = (
        "import sys; from incrowd import accountant as a\n"
        "flip = a.BitFlip.from_epsilon(2.0)\n"
        "a.certify('shuffle', flip, 1000, 0.5); a.privacy_curve('seat', flip, 1000)\n"
        "print(*(m for m in sys.modules if m.split('.')[0] in ('incrowd', 'pydantic')))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    others = {name for name in run.stdout.split() if not name.startswith("incrowd.accountant")}
    assert others <= ALLOWED


def test_its_names_are_sorted_loadable_and_documented():
    assert accountant.__all__ == sorted(accountant._HOMES)
    for name in accountant.__all__:
        value = getattr(accountant, name)
        assert value.__doc__ and not isinstance(value, type(sys)), name
    assert dir(accountant) == accountant.__all__
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        accountant.missing  # noqa: B018


@pytest.mark.parametrize(
    ("channel", "domain"),
    [
        (accountant.BitFlip.from_epsilon(2.0), accountant.Domain(1, 0, 1)),
        *slowly(
            (accountant.Warner.from_epsilon(1.0), accountant.Domain(1, 0, 1)),
            (accountant.KAry.from_epsilon(2.0, 4), accountant.Domain(4, 1, 1)),
        ),
    ],
    ids=["bit flip", "warner", "k-ary"],
)
def test_a_channel_stands_for_one_report_of_one_question(channel, domain):
    schema = accountant.Schema.of([accountant.Part(domain, channel)])
    wrong = accountant.Contribution.of(schema, 2)
    for analysis in ("shuffle", "blanket"):
        alone, spelled_out, twice = (
            accountant.certify(analysis, sent, 200, 0.4).delta.upper
            for sent in (channel, schema, wrong)
        )
        assert alone == spelled_out < twice


def test_what_is_no_mechanism_is_refused():
    with pytest.raises(PrivacyError):
        accountant.certify("shuffle", accountant.BitFlip(0), 100, 1.0)
