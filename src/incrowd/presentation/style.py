"""The page's style sheet: one accent color, light and dark, wide, narrow and printed."""

from __future__ import annotations

from incrowd.presentation.charts import ACCENT, INK, LINE, MUTED

_LIGHT = {
    "ink": INK,
    "muted": MUTED,
    "line": LINE,
    "accent": ACCENT,
    "paper": "#ffffff",
    "soft": "#f5f7f9",
    "warn": "#8a4600",
    "warn-soft": "#fff5e6",
}
_DARK = {
    "ink": "#e8ebef",
    "muted": "#9ba5b0",
    "line": "#323941",
    "accent": "#6cb0f5",
    "paper": "#14171a",
    "soft": "#1c2025",
    "warn": "#ffbf75",
    "warn-soft": "#2c2216",
}
_RECOLOURED = {"ink": INK, "muted": MUTED, "line": LINE, "accent": ACCENT}

_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1180px;margin:0 auto;padding:56px 32px 72px}
h1,h2,p,dd{overflow-wrap:anywhere}
th{overflow-wrap:break-word}
h1{font-size:34px;line-height:1.2;letter-spacing:-.015em;margin:0 0 20px;font-weight:650}
h2{font-size:20px;line-height:1.3;margin:0 0 4px;font-weight:650}
h3{font-size:16px;margin:20px 0 2px;font-weight:650}
p{margin:0 0 12px}
.words{max-width:46em}
.quiet{color:var(--muted);font-size:14px}
.promise{border-left:3px solid var(--accent);padding:2px 0 2px 20px;margin:28px 0}
.promise strong{display:block;color:var(--accent);font-size:14px;letter-spacing:.02em}
.promise .claim{font-size:19px;line-height:1.5}
.promise p:last-child{margin:0}
.banner{background:var(--warn-soft);color:var(--warn);border:1px solid currentColor;
border-radius:6px;padding:14px 18px;margin:0 0 24px;font-weight:550}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:20px 32px;
margin:32px 0;padding:20px 0;border:solid var(--line);border-width:1px 0}
dt{color:var(--muted);font-size:14px}
dd{margin:0;font-variant-numeric:tabular-nums}
dl .all{grid-column:1/-1}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.key{display:flex;flex-wrap:wrap;gap:4px 28px;color:var(--muted);font-size:14px;margin:0}
.key span{display:inline-flex;align-items:center;gap:8px}
section{padding:36px 0;border-bottom:1px solid var(--line)}
section:last-of-type{border:0}
.pair{display:grid;grid-template-columns:minmax(0,1.08fr) minmax(0,1fr);gap:20px 48px;
align-items:start;margin-top:16px}
.pair.alone{grid-template-columns:minmax(0,1fr)}
.chart svg{display:block;max-width:100%;height:auto;overflow:visible}
.chart text{font-family:Arial,"Liberation Sans","Helvetica Neue",Helvetica,sans-serif}
.narrow{display:none}
.numbers{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;line-height:1.35;
font-variant-numeric:tabular-nums}
th{font-weight:400;text-align:left;vertical-align:top;padding:5px 14px 5px 0}
thead th{color:var(--muted);vertical-align:bottom;font-size:13px;
border-bottom:1px solid var(--muted)}
td,th.figure{text-align:right;white-space:nowrap;padding:5px 0 5px 16px;vertical-align:top}
tbody tr+tr>*{border-top:1px solid var(--line)}
td.main{font-weight:600}
th[scope=rowgroup]{font-weight:600;padding-top:14px}
.mark{color:var(--warn);font-size:12px;white-space:nowrap;margin-left:8px}
@media (max-width:1000px){.pair{grid-template-columns:minmax(0,1fr)}.numbers{max-width:620px}}
@media screen and (max-width:620px){
main{padding:32px 18px 48px}h1{font-size:27px}.promise .claim{font-size:17px}
.wide{display:none}.narrow{display:block}dl{grid-template-columns:1fr 1fr;gap:14px 20px}
table{font-size:13px}td,th.figure{padding-left:9px}thead th{font-size:12px}th{padding-right:4px}}
@media print{
body{font-size:10.5pt}main{max-width:none;padding:0}section{padding:18pt 0}
.pair{display:block}.numbers{overflow:visible;max-width:620px;margin-top:8pt}
table{font-size:9pt}thead th{font-size:8.5pt}dl{grid-template-columns:repeat(4,auto)}
section>.quiet{break-after:avoid}
.chart,.numbers,tr,h2,.banner,.promise{break-inside:avoid}h2,h3{break-after:avoid}}
"""


def style_sheet() -> str:
    """The CSS of a page. It fetches nothing: no fonts, no pictures, no imports."""
    dark = f":root{{{_variables(_DARK)}}}"
    recolored = "".join(_recolored(name, color) for name, color in _RECOLOURED.items())
    return (
        f":root{{color-scheme:light dark;{_variables(_LIGHT)}}}{_RULES}{recolored}"
        f"@media screen and (prefers-color-scheme:dark){{{dark}}}"
    )


def _variables(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())


def _recolored(name: str, color: str) -> str:
    """Charts are drawn in the light colors; the style sheet has the last word on them."""
    return (
        f'.chart [fill="{color}"]{{fill:var(--{name})}}'
        f'.chart [stroke="{color}"]{{stroke:var(--{name})}}'
    )
