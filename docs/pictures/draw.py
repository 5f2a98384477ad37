"""Draws every picture of the manual again: `PYTHONPATH=. python docs/pictures/draw.py [FOLDER]`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from charts import CHARTS
from empty_seat import PICTURES
from sketches import SKETCHES

# What each color of the light page is on the dark one; pictures are drawn in the light ones.
DARK = {
    "#1b1f24": "#e8ebef",
    "#59636e": "#9ba5b0",
    "#dfe3e8": "#323941",
    "#0b5cad": "#6cb0f5",
    "#8a4600": "#ffbf75",
    "#f5f7f9": "#1c2025",
    "#ffffff": "#14171a",
}


def picture(name: str, svg: str) -> str:
    """Return an SVG document that follows the light or dark setting of whoever looks at it."""
    rules = "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in DARK.items()
    )
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    opening = svg.index(">", svg.index("<svg")) + 1
    text = svg[:opening] + f"<title>{name}</title>{style}" + svg[opening:]
    return re.sub(r'<path class="(?:back|fore)ground"[^<>]*/>', "", text) + "\n"


def main(folder: Path) -> None:
    """Write all pictures into a folder."""
    for name, drawn in {**CHARTS, **SKETCHES, **PICTURES}.items():
        (folder / f"{name}.svg").write_text(picture(name, drawn()), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
