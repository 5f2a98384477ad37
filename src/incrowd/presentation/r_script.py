"""Results as an R script: estimates, errors and covariances as objects of base R.

The script assigns one list and needs no package. It is ASCII outside of comments, so that it reads
the same under any encoding, and text of a survey cannot end a string or a comment.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from incrowd.characters import cleaned
from incrowd.presentation.figures import Figures, Sheet, Square, Value

NAME = "incrowd"  # of the list that the script assigns
WIDTH = 98
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_USES = {
    "estimates": """
        t <- incrowd$sheets[[1]]                  # answers, estimate, standard_error, low, high
        xtabs(estimate ~ ., t[setdiff(names(t), c("standard_error", "low", "high"))])
        # The difference of the first two cells, with its standard error:
        w <- c(1, -1, rep(0, nrow(t) - 2))
        V <- incrowd$matrices[[1]]                # the covariance, cells in the order of the rows
        c(difference = sum(w * t$estimate), error = sqrt(drop(t(w) %*% V %*% w)))
        # Together with other surveys, with the package metafor:
        # metafor::rma.mv(yi = c(t$estimate, others), V = metafor::bldiag(V, V_of_others))
        """,
    "regression": """
        b <- setNames(incrowd$sheets$coefficients$estimate, incrowd$sheets$coefficients$term)
        V <- incrowd$matrices$covariance
        cbind(estimate = b, error = sqrt(diag(V)), z = b / sqrt(diag(V)))
        # A Wald test that all coefficients but the intercept are zero:
        k <- length(b) - 1
        pchisq(drop(b[-1] %*% solve(V[-1, -1], b[-1])), k, lower.tail = FALSE)
        # Together with other surveys, with the package mixmeta:
        # mixmeta::mixmeta(rbind(b, b_other), list(V, V_other))
        """,
    "comparison": """
        subset(incrowd$sheets$figures, kind == "difference")
        # Together with other surveys, with the package metafor (log scale for odds ratios):
        # metafor::rma(yi = estimates, sei = errors)
        """,
    "crosstab": """
        t <- incrowd$sheets$crosstab
        xtabs(count ~ t[[1]] + t[[2]], t)
        """,
    "correlations": """
        R <- incrowd$matrices$correlations
        eigen(R)$values                           # below 0: see the notes
        """,
    "postprocessed": """
        incrowd$sheets[[1]]                       # biased: compare with the column unbiased
        """,
}


def r_script(figures: Figures) -> str:
    """The text of an .R file that assigns the list `incrowd`.

    `incrowd$sheets` has a data frame for each table, with shares as proportions; `incrowd$matrices`
    the covariances. Rows and columns of a covariance are in the order of the rows of its table.
    """
    uses = textwrap.dedent(_USES[figures.kind]).strip().splitlines()
    if figures.kind == "estimates" and not figures.squares:
        uses = [*uses[:2], "For covariances, write this file with: incrowd estimate -o FILE.R"]
    sheets = _named([each.name for each in figures.sheets], map(_frame, figures.sheets))
    matrices = _named([each.name for each in figures.squares], map(_matrix, figures.squares))
    lines = [
        *_comment([figures.title]),
        "#",
        *_comment(figures.promise),
        "#",
        "# How to use it (base R is enough):",
        '#   source("THIS_FILE.R")',
        *(f"#   {use}" for use in uses),
        "#",
        *_comment(figures.notes),
        "",
        f"{NAME} <- list(",
        f"  title = {text(figures.title)},",
        f"  guarantee = {vector(figures.promise)},",
        f"  notes = {vector(figures.notes)},",
        f"  sheets = {sheets},",
        f"  matrices = {matrices}",
        ")",
    ]
    return "\n".join(lines) + "\n"


def text(value: str) -> str:
    """A string of R, in ASCII."""
    return '"' + "".join(_ESCAPED.get(each) or _ascii(each) for each in value) + '"'


def _ascii(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    if code == 0 or 0xD800 <= code <= 0xDFFF:  # R has no such characters
        return "\\ufffd"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float | None) -> str:
    """A number of R with all its digits; NA for a missing one."""
    if value is None or math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value)


def vector(values: Sequence[Value]) -> str:
    """A vector of R: of strings, of logicals, or of numbers."""
    if not values:
        return "character(0)"
    if any(isinstance(each, str) for each in values):
        return f"c({_joined(text(each) if isinstance(each, str) else 'NA' for each in values)})"
    if all(isinstance(each, bool) for each in values):
        return f"c({_joined('TRUE' if each else 'FALSE' for each in values)})"
    shown = (number(None if each is None else float(each)) for each in values)
    return f"c({_joined(shown)})"


def _frame(sheet: Sheet) -> str:
    """A data frame. Its columns are named last, since any text can be an id of a question."""
    columns = zip(*sheet.rows, strict=True) if sheet.rows else [()] * len(sheet.headings)
    vectors = _joined(map(vector, columns))
    return f"setNames(data.frame({vectors}, stringsAsFactors = FALSE), {vector(sheet.headings)})"


def _matrix(square: Square) -> str:
    labels, size = vector(square.labels), len(square.labels)
    numbers = _joined(number(each) for each in square.values.ravel().tolist())
    return f"matrix(c({numbers}), {size}, {size}, TRUE, list({labels}, {labels}))"


def _named(names: Sequence[str], values: Iterable[str]) -> str:
    """A list of R with the names of some items."""
    if not names:
        return "list()"
    lines = ",\n    ".join(values)
    return f"setNames(list(\n    {lines}\n  ), {vector(names)})"


def _joined(parts: Iterable[str]) -> str:
    """The arguments of a call, in lines of some length; no string is broken."""
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > WIDTH and lines[-1]:
            lines.append("")
        lines[-1] += f"{part}, "
    return "\n      ".join(line.rstrip() for line in lines).removesuffix(",")


def _comment(texts: Iterable[str]) -> Iterator[str]:
    for each in texts:
        yield from (f"# {line}" for line in textwrap.wrap(cleaned(each), WIDTH - 2))
