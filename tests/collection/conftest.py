"""A PostgreSQL server of the tests' own."""

import pytest

from tests.oracles import postgresql


@pytest.fixture(scope="session")
def postgres():
    """What makes empty databases. That it loses them with the machine does not matter here."""
    try:
        with postgresql.running("fsync=off") as server:
            yield server
    except postgresql.Missing:
        pytest.skip("PostgreSQL is not installed: no initdb is found")
