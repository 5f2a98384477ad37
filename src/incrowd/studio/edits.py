"""Changes to the text of a survey file that keep everything else in it, comments included."""

from __future__ import annotations

from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from incrowd.errors import SurveyError


def set_value(text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text with a value under nested keys, such as ("privacy", "epsilon"); None removes it.

    Raises SurveyError if the text is not TOML.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise SurveyError.of("survey", str(error), "correct the file first") from None
    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            table[key] = tomlkit.table()
        table = table[key]
    if value is None:
        table.pop(keys[-1], None)
    else:
        table[keys[-1]] = value
    return tomlkit.dumps(document)
