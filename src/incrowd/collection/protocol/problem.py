"""Answers that say no: problem details of RFC 9457, their types in one registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incrowd.errors import InWords, ProtocolError
from incrowd.plans.digests import canonical, read_json

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:incrowd:problem:"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Kind:
    """One type of problem. retry: whether the same bytes may be accepted later."""

    name: str
    status: int
    title: str
    retry: bool = False

    @property
    def type(self) -> str:
        """The URI that identifies it."""
        return PREFIX + self.name


_COUNTED = "yours may already be counted"
# In the order in which an upload is checked; then what a release can meet; then the rest.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("length", 400, "The upload does not have the length that the bundle requires."),
        Kind("bundle", 422, "The upload is for another bundle."),
        Kind("stratum", 422, "There is no such stratum."),
        Kind("sealed", 422, "A sealed report is for another key, or is in another upload."),
        Kind("not-open", 403, "The collection has not opened yet.", retry=True),
        Kind("closed", 410, f"The collection is closed; {_COUNTED}."),
        Kind("withdrawn", 410, "This upload was withdrawn, and is not counted."),
        Kind("code-used", 409, f"The invitation was used; {_COUNTED}."),
        Kind("code-unknown", 403, "There is no such invitation."),
        Kind("not-found", 410, "It cannot be found any more: the collection is closed."),
        Kind("signature", 403, "The release is not signed by the bundle's shuffler."),
        Kind("release", 422, "The release is not one of this bundle."),
        Kind("contradiction", 409, "Another release of a stratum was signed before."),
        Kind("no-resource", 404, "There is nothing at this address."),
        Kind("method", 405, "That cannot be done at this address."),
        Kind("slow", 408, "The body did not arrive in time.", retry=True),
        Kind("media-type", 415, "The body is of another media type, or compressed."),
        Kind("busy", 503, "Too much at once; try again.", retry=True),
        Kind("full", 507, "There is no room left; try again later.", retry=True),
        Kind("fault", 500, "A fault of this service; try again later.", retry=True),
    )
}
# What a ProtocolError is about, and its type where that is another word.
_FIELDS = {"upload.code": "code-unknown", "release.signature": "signature"}


def kind_of(error: ProtocolError) -> Kind:
    """The type that answers a wrong upload or release."""
    field = error.problems[0].field
    thing, _, part = field.partition(".")
    name = _FIELDS.get(field, part if thing == "upload" else thing)
    return KINDS.get(name, KINDS["fault"])


def document(kind: Kind, detail: str = "") -> bytes:
    """The body of an answer with the kind's status. detail: a sentence that holds no secret."""
    content: dict[str, Any] = {"type": kind.type, "title": kind.title, "status": kind.status}
    return canonical(content | ({"detail": detail} if detail else {})).encode()


def parse_document(data: bytes, status: int) -> tuple[Kind | None, str]:
    """The kind of a peer's answer, None for one that is not ours, and what it says.

    status: of the answer, which decides (RFC 9457, section 3.1.2). Raises ProtocolError if it is
    no such document.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("is too long")
        content = read_json(data.decode())
        name, said = content["type"], content.get("detail", content.get("title", ""))
        if not isinstance(name, str) or not isinstance(said, str):
            raise ValueError("is of another type")
    except (ValueError, KeyError, TypeError, AttributeError):
        allowed = "should be a problem document (RFC 9457)"
        found = InWords(f"of status {status} cannot be read")
        raise ProtocolError.of("answer", found, allowed) from None
    kind = KINDS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return kind if kind and kind.status == status else None, said
