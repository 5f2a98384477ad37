"""The accountant is usable by itself: it imports only what is installed with it."""

import ast
import importlib
import subprocess
import sys
from unittest import mock

import pytest

from incrowd import accountant
from incrowd.errors import PrivacyError, UsageError
from tests.conftest import slowly
from tests.oracles.source import tree_of
from tests.oracles.standalone import ROOMS, SHIPPED, loaded_modules, missing

BESIDE = {"incrowd", "incrowd.methods"}  # what `import incrowd` loads if incrowd is installed too

PROVED = "incrowd.accountant.proved"


def shipped():
    files = [file for path in SHIPPED.iterdir() for file in [path, *path.rglob("*")]]
    return [file for file in files if file.suffix == ".py"]


def test_what_is_shipped_imports_nothing_that_is_not_installed_with_it():
    assert len(shipped()) > 60
    for file in shipped():
        extra = ["flint"] if file.parent.name == "proved" else []
        assert missing(tree_of(file.read_text()), extra) == set(), file


def test_every_shared_module_is_imported():
    """The version is read when the distribution is built."""
    names = set().union(*(loaded_modules(tree_of(file.read_text())) for file in shipped()))
    rooms = {name.split(".")[1] for name in names if name.startswith("incrowd.")}
    assert ROOMS - {"version"} == rooms


@pytest.mark.parametrize(
    "planted",
    [
        "import pydantic",
        "from rich.table import Table",
        "from incrowd.plans import Plan",
        "import incrowd",
        "from incrowd import Plan",
        "try:\n    import flint\nexcept ImportError:\n    pass",
        "class A:\n    import pyarrow",
        "def f():\n    from incrowd.survey import Survey",
    ],
)
def test_an_import_that_fails_with_the_accountant_alone_is_found(planted):
    right = "if TYPE_CHECKING:\n    import pyarrow\ndef f():\n    import pandas\nimport numpy.fft"
    assert missing(ast.parse(planted)) and not missing(ast.parse(right))


def test_using_it_loads_nothing_else_of_incrowd_and_no_pydantic():
    code = (
        "import sys; from incrowd import accountant as a\n"
        "flip = a.BitFlip.from_epsilon(2.0)\n"
        "a.certify('shuffle', flip, 1000, 0.5); a.privacy_curve('seat', flip, 1000)\n"
        "print(*(m for m in sys.modules if m.split('.')[0] in ('incrowd', 'pydantic')))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    others = {
        name for name in run.stdout.split() if name.partition(".")[2].split(".")[0] not in ROOMS
    }
    assert others <= BESIDE


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


def test_without_python_flint_the_extra_is_named():
    others = {name: one for name, one in sys.modules.items() if PROVED not in name}
    with (
        mock.patch.dict("sys.modules", others, clear=True),
        mock.patch.dict("sys.modules", {"flint": None}),
        pytest.raises(UsageError, match=r'flint, which is not installed; .*"incrowd-accountant\['),
    ):
        importlib.import_module(PROVED)
