"""Shows the options that functions share as parameters, in the reference as `help()` does."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import griffe

import incrowd
from incrowd.arguments import documented, expanded

PUBLIC = {f"{home}.{name}": name for name, home in incrowd._HOMES.items()}


class SharedOptions(griffe.Extension):
    """Replaces `**options` by the options themselves."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Add parameters to the signature of a public function, and to its docstring."""
        if func.path not in PUBLIC:
            return
        function = getattr(incrowd, PUBLIC[func.path]).__wrapped__
        own = [each for each in func.parameters if each.kind != griffe.ParameterKind.var_keyword]
        if len(own) < len(func.parameters):
            options = [*expanded(function).parameters.values()][len(own) :]
            func.parameters = griffe.Parameters(*own, *map(_parameter, options))
            func.docstring = griffe.Docstring(documented(function), parent=func, parser="numpy")


def _parameter(option: Parameter) -> griffe.Parameter:
    """Return a parameter that is named in calls."""
    kind = griffe.ParameterKind.keyword_only
    annotation, default = option.annotation, repr(option.default)
    return griffe.Parameter(option.name, annotation=annotation, kind=kind, default=default)
