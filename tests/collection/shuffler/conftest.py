"""A shuffler for tests: in a temporary folder, with a clock that the test moves."""

from tests.oracles.mixing import (
    INVITED,
    MERGED,
    OCTETS,
    PIECE,
    SHUFFLER,
    Collector,
    Site,
    code,
    content,
    found,
    sealed,
    upload,
)

__all__ = [
    "INVITED",
    "MERGED",
    "OCTETS",
    "PIECE",
    "SHUFFLER",
    "Collector",
    "Site",
    "code",
    "content",
    "found",
    "sealed",
    "upload",
]
