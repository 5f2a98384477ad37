"""Write the public names where they are repeated: the stub, and the page of the Python interface.

    python -m tests.oracles.public_names

`incrowd/__init__.py` and `incrowd/methods.py` list them; a test compares.
"""

import re
from pathlib import Path

import incrowd

STUB = Path(incrowd.__file__).with_suffix(".pyi")
PAGE = Path(__file__).parents[2] / "docs" / "api.md"
HEAD = '"""The public names for type checkers; `python -m tests.oracles.public_names` writes it."""'


def stub() -> str:
    """The stub: an import for each name, in the order of modules and names."""
    homes = sorted(incrowd._homes().items(), key=lambda pair: (pair[1], pair[0]))
    lines = [f"from {home} import {name} as {name}" for name, home in homes]
    return "\n".join([HEAD, "", "__version__: str", "", *lines]) + "\n"


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
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
