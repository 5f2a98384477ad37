"""Runs the notebooks of the manual. Each becomes a page, and a file to download.

The sources are scripts with cells (`docs/notebooks/*.py`, the percent format of jupytext). A cell
that fails stops the build, which names it. The results of a run are in `build/notebooks/`, and are
used again until the notebook, its data, or the package changes.
"""

from __future__ import annotations

import hashlib
import html
import re
import shutil
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import jupytext
import nbformat
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).parent.parent
DATA = ROOT / "examples" / "rand_hie.csv"
RESULTS = ROOT / "build" / "notebooks"
QUIET = ["--log-level=ERROR"]
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
# A link to another page of the manual. There are no pages next to a file that was downloaded.
LINK = re.compile(r"\[([^]]+)\]\((?!https:)[^)]+\)")
# Styles that pandas adds to a table, which would override those of the manual.
LOOK = re.compile(r'(?s)<style scoped>.*?</style>\s*| border="1" class="dataframe"')
NAME = re.compile(r'<svg[^>]*?aria-label="([^"]*)"')
BACKGROUND = re.compile(r'(<svg[^>]*>\s*)<rect[^>]*fill="white"[^>]*/>')


def on_files(files: Files, config: Any) -> Files:
    """Add the page and the file of each notebook, and the data that they read."""
    for source in sorted((Path(config.docs_dir) / "notebooks").glob("*.py")):
        notebook = jupytext.read(source)
        notebook.metadata = nbformat.from_dict(KERNEL)
        name = f"notebooks/{source.stem}"
        files.append(
            File.generated(
                config, f"{name}.md", content=page(run(notebook, source.stem), source.stem)
            )
        )
        files.append(File.generated(config, f"{name}.ipynb", content=download(notebook)))
    files.append(File.generated(config, f"notebooks/{DATA.name}", abs_src_path=str(DATA)))
    return files


def run(notebook: Any, name: str) -> Any:
    """Return a notebook with its results, those of an earlier run if nothing has changed."""
    cells = repr([(cell.cell_type, cell.source) for cell in notebook.cells])
    used = [DATA, *sorted((ROOT / "src" / "incrowd").rglob("*.py"))]
    content = b"".join([cells.encode(), *(file.read_bytes() for file in used)])
    result = RESULTS / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.ipynb"
    if not result.exists():
        done = nbformat.from_dict(notebook)
        with TemporaryDirectory() as folder:
            shutil.copy(DATA, folder)
            execute(done, name, folder)
        RESULTS.mkdir(parents=True, exist_ok=True)
        for earlier in RESULTS.glob(f"{name}-{16 * '?'}.ipynb"):
            earlier.unlink()
        nbformat.write(done, result)
    return nbformat.read(result, as_version=4)


def execute(notebook: Any, name: str, folder: str) -> None:
    """Run the cells of a notebook in a folder. Raises PluginError, which names the cell, if one
    fails."""
    place, started = {"metadata": {"path": folder}}, list[str]()
    client = NotebookClient(notebook, timeout=300, resources=place, extra_arguments=QUIET)
    client.on_cell_execute = lambda cell, cell_index: started.append(cell.source)
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        code = sum(cell.cell_type == "code" for cell in notebook.cells)
        where = f"docs/notebooks/{name}.py: cell {len(started)} of the {code} cells with code"
        raise PluginError(f"{where} fails.\n\n{click.unstyle(str(error))}") from None


def page(notebook: Any, name: str) -> str:
    """Return a notebook that was run as a page of the manual, which begins with its title."""
    title, *rest = (text for cell in notebook.cells for text in parts(cell))
    heading, _, introduction = title.partition("\n")
    link = f"[Download this page as a notebook]({name}.ipynb)"
    return "\n\n".join([heading, link, introduction, *rest])


def parts(cell: Any) -> list[str]:
    """Return a cell and its results as Markdown."""
    if cell.cell_type == "markdown":
        return [cell.source]
    return [f"```python\n{cell.source}\n```", *map(shown, cell.outputs)]


def shown(output: Any) -> str:
    """Return a result as Markdown: a table or page, a chart, or text."""
    data = {"text/plain": output.text} if output.output_type == "stream" else output.data
    if "text/html" in data:
        return f'<div class="result">{LOOK.sub("", data["text/html"])}</div>'
    if "image/svg+xml" in data:
        drawing = BACKGROUND.sub(r"\1", data["image/svg+xml"], count=1)
        words = named[1] if (named := NAME.search(drawing)) else "Chart"
        source = f"data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}"
        return f'<div class="result"><img alt="{words}" src="{source}"></div>'
    return f'<pre class="result">{html.escape(data["text/plain"].rstrip())}</pre>'


def download(notebook: Any) -> str:
    """Return a notebook without results, and without links that would lead nowhere."""
    alone = nbformat.from_dict(notebook)
    for cell in alone.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(r"\1", cell.source)
    return str(nbformat.writes(alone))
