"""What the tests of the wire build on: the bundles and keys of the vectors."""

import json

from tests.oracles import make_vectors
from tests.oracles.make_vectors import VECTORS

INVITED, OPEN = make_vectors.INVITED, make_vectors.OPEN


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
