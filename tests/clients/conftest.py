"""Node, and the client's modules as Node reads them, in a folder of the tests' own."""

import pytest

from tests.oracles.javascript import client_in


@pytest.fixture(scope="session")
def javascript(tmp_path_factory):
    """Yields a function that runs a script of this folder with Node and gives what it writes."""
    return client_in(tmp_path_factory.mktemp("javascript"))
