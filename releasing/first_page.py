"""The first page of the manual as a script: its commands, in their order, in one empty folder."""

import re

BLOCK = re.compile(r"^```(?P<language>sh|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


def commands(page: str) -> str:
    """Return the commands of a page: its `sh` and `console` blocks, in their order.

    In a `console` block with prompts (`$ `), the lines without one are output, except where a
    line ends with a backslash and goes on in the next.
    """
    return "".join(_commands_of(block["text"]) for block in BLOCK.finditer(page))


def _commands_of(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if not any(line.startswith(PROMPT) for line in lines):
        return text
    typed, goes_on = [], False
    for line in lines:
        if goes_on or line.startswith(PROMPT):
            typed.append(line.removeprefix(PROMPT))
            goes_on = line.rstrip("\n").endswith("\\")
    return "".join(typed)
