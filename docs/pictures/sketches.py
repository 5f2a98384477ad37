"""The sketches of the manual: boxes, arrows and a few curves, drawn by hand in code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from scipy.special import ndtr

INK, MUTED, LINE, ACCENT, WARN = "#1b1f24", "#59636e", "#dfe3e8", "#0b5cad", "#8a4600"
SOFT, PAPER = "#f5f7f9", "#ffffff"
WIDTH = 520
FONT = "sans-serif"


def document(height: int, parts: Sequence[str]) -> str:
    """Return an SVG document of the usual width."""
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def text(x: float, y: float, words: str, hue: str = INK, size: int = 14, at: str = "middle") -> str:
    """Return words at a place; at: which end of them stands there."""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{at}" font-size="{size}" font-family="{FONT}"'
    return f'<text {place} fill="{hue}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, hue: str = LINE, fill: str = SOFT) -> str:
    """Return a rounded frame."""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"'
    return f'<rect {place} fill="{fill}" stroke="{hue}" stroke-width="1.5"/>'


def _line(points: Sequence[tuple[float, float]], hue: str = INK, width: float = 2) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{hue}" stroke-width="{width:g}"/>'


def _down(x: float, top: float, bottom: float, hue: str = MUTED) -> str:
    head = [(x - 5, bottom - 8), (x, bottom), (x + 5, bottom - 8)]
    return _line([(x, top), (x, bottom)], hue, 1.5) + _line(head, hue, 1.5)


def dot(x: float, y: float, hue: str = ACCENT, radius: float = 5) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{hue}"/>'


def path() -> str:
    """Draw the way from three devices through the shuffler to the analyst."""
    people = [("Ann", "yes", "yes"), ("Ben", "no", "yes"), ("Cem", "no", "no")]
    parts = []
    for place, (name, answer, report) in enumerate(people):
        x = 20 + 165 * place
        parts += [box(x, 10, 150, 118), text(x + 75, 32, f"{name}'s device", MUTED, 13)]
        parts += [text(x + 75, 56, f"answer: {answer}"), _down(x + 75, 64, 92)]
        parts += [text(x + 84, 83, "coins", MUTED, 12, "start")]
        hue = WARN if report != answer else INK
        parts += [text(x + 75, 112, f"report: {report}", hue), _down(x + 75, 128, 162)]
    parts += [box(20, 164, 480, 62, ACCENT), text(260, 188, "the shuffler", ACCENT, 15)]
    parts += [text(260, 210, "takes off names, addresses and times; mixes", MUTED, 13)]
    parts += [_down(260, 226, 262), box(130, 264, 260, 62)]
    parts += [text(260, 288, "collection: yes, no, yes", INK, 15)]
    parts += [text(260, 310, "whose is which, nobody knows", MUTED, 13), _down(260, 326, 362)]
    parts += [box(60, 364, 400, 62), text(260, 388, "the analyst", INK, 15)]
    parts += [text(260, 410, "counts, and takes the known noise off again", MUTED, 13)]
    return document(438, parts)


def flip() -> str:
    """Return thirty of a hundred say yes; a quarter of the bits is flipped;
    the count is put right."""
    q, yes = 0.25, 30.0
    reported = yes * (1.0 - q) + (100 - yes) * q
    rows = [
        ("answers", [(yes, ACCENT)], f"{yes:.0f} of 100 are yes"),
        (
            "reports",
            [(yes * (1.0 - q), ACCENT), ((100 - yes) * q, WARN)],
            f"{reported:.0f} say yes",
        ),
        ("estimate", [(yes, ACCENT)], f"({reported:.0f} - 25) / 0.5 = {yes:.0f}"),
    ]
    parts = []
    for place, (name, bars, words) in enumerate(rows):
        y, x = 18 + 74 * place, 100.0
        parts += [text(90, y + 23, name, MUTED, 14, "end"), box(100, y, 400, 34, LINE)]
        for share, hue in bars:
            parts.append(
                f'<rect x="{x:g}" y="{y}" width="{4 * share:g}" height="34" fill="{hue}"/>'
            )
            x += 4 * share
        parts.append(text(x + 10, y + 22, words, INK, 14, "start"))
    parts.append(
        text(100, 236, "blue: the answer was yes; brown: flipped from no", MUTED, 12, "start")
    )
    return document(250, parts)


def split() -> str:
    """Return a value between two lattice points is split so that its mean stays; the chord lies
    above."""
    left, mid, right, foot = 120.0, 230.0, 420.0, 210.0

    def height(x: float) -> float:
        return foot - 0.55 * max(0.0, x - 200)

    parts = [_line([(40, foot), (490, foot)], LINE, 1.5)]
    parts += [_line([(x, height(x)) for x in (40.0, 200.0, 490.0)], INK)]
    parts += [_line([(left, height(left)), (right, height(right))], WARN)]
    share = (mid - left) / (right - left)
    chord = height(left) + share * (height(right) - height(left))
    parts += [_line([(mid, height(mid)), (mid, chord)], ACCENT, 1.5)]
    parts += [dot(mid, height(mid)), dot(mid, chord, WARN)]
    parts += [dot(left, height(left), WARN), dot(right, height(right), WARN)]
    for x, words in ((left, "lattice point"), (mid, "value"), (right, "next point")):
        parts += [
            _line([(x, foot), (x, foot + 7)], MUTED, 1.5),
            text(x, foot + 25, words, MUTED, 13),
        ]
    parts += [text(470, height(470) - 22, "max(0, x)", INK, 14, "end")]
    parts += [text(mid - 8, chord - 10, "after the split", WARN, 13, "end")]
    parts += [text(mid + 10, height(mid) - 4, "before", ACCENT, 13, "start")]
    return document(250, parts)


def dots() -> str:
    """Return the curve of delta against e^epsilon, and the chords between a few of its points."""
    mu = 1.2
    ratios = np.linspace(1, 4.6, 100)
    at = np.log(ratios) / mu
    delta = ndtr(mu / 2 - at) - ratios * ndtr(-mu / 2 - at)

    def place(ratio: float, value: float) -> tuple[float, float]:
        return 60 + 118 * (ratio - 1), 225 - 420 * value

    grid = np.exp(np.arange(4) * 0.5)
    known = np.interp(grid, ratios, delta)
    parts = [_line([(60, 225), (500, 225)], LINE, 1.5), _line([(60, 20), (60, 225)], LINE, 1.5)]
    parts += [_line([place(*pair) for pair in zip(ratios, delta, strict=True)], INK)]
    parts += [_line([place(*pair) for pair in zip(grid, known, strict=True)], WARN)]
    parts += [dot(*place(*pair), WARN) for pair in zip(grid, known, strict=True)]
    parts += [
        text(500, 246, "e^epsilon", MUTED, 13, "end"),
        text(72, 32, "delta", MUTED, 13, "start"),
    ]
    parts += [text(250, 60, "the chords lie above the convex curve:", WARN, 13, "start")]
    parts += [text(250, 80, "what is read off them is an upper bound", WARN, 13, "start")]
    return document(256, parts)


SKETCHES: dict[str, Callable[[], str]] = {
    "path": path,
    "flip": flip,
    "split": split,
    "dots": dots,
}
