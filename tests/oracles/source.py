"""Python source as syntax trees, which many tests look at: parsed once in each process."""

import ast
from functools import cache


@cache
def tree_of(text):
    """The module; nobody changes it."""
    return ast.parse(text)


@cache
def nodes_of(text):
    """All nodes of the module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree_of(text)))
