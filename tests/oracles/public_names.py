"""Write the public names where they are repeated: the stubs, and the page of the Python interface.

    python -m tests.oracles.public_names

`incrowd/__init__.py`, `incrowd/methods.py`, `incrowd/accountant/__init__.py`, and
`incrowd/interviews/__init__.py` list them; a test compares.
"""

import re
from pathlib import Path

import incrowd
from incrowd import accountant, interviews

STUB = Path(incrowd.__file__).with_suffix(".pyi")
STUB_OF_ACCOUNTANT = Path(accountant.__file__).with_suffix(".pyi")
STUB_OF_INTERVIEWS = Path(interviews.__file__).with_suffix(".pyi")
PAGE = Path(__file__).parents[2] / "docs" / "api.md"
HEAD = '"""The public names for type checkers; `python -m tests.oracles.public_names` writes it."""'


def stub() -> str:
    """The stub of the package."""
    return _stub(["__version__: str", ""], incrowd._homes())


def stub_of_accountant() -> str:
    """The stub of the accountant."""
    homes = {name: f"incrowd.accountant.{home}" for name, home in accountant._HOMES.items()}
    return _stub([], homes)


def stub_of_interviews() -> str:
    """The stub of the room of interviews."""
    homes = {name: f"incrowd.interviews.{home}" for name, home in interviews._HOMES.items()}
    return _stub([], homes)


def _stub(first: list[str], homes: dict[str, str]) -> str:
    """A stub: an import for each name, in the order of modules and names."""
    ordered = sorted(homes.items(), key=lambda pair: (pair[1], pair[0]))
    lines = [f"from {home} import {name} as {name}" for name, home in ordered]
    return "\n".join([HEAD, "", *first, *lines]) + "\n"


def page(text: str) -> str:
    """The page with the names of each section in place of those that it has."""
    for section, names in incrowd._sections().items():
        if section:
            listed = "\n\n".join(f"::: incrowd.{name}" for name in names)
            block = rf"(## {re.escape(section)}\n(?:(?!## |:::).*\n)*)(?:::: incrowd\.\w+\n+)*"
            text, times = re.subn(block, lambda m, new=listed: f"{m[1]}{new}\n\n", text)
            assert times == 1, f"{PAGE.name} has no section {section!r}"
    return text.rstrip() + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    STUB_OF_ACCOUNTANT.write_text(stub_of_accountant(), encoding="utf-8")
    STUB_OF_INTERVIEWS.write_text(stub_of_interviews(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
