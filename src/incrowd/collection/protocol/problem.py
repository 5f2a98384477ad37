"""Problem details (RFC 9457): how services refuse requests, and the registry of their types."""

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
class ProblemKind:
    """A type of problem. retry: whether the same bytes may be accepted later."""

    name: str
    status: int
    title: str
    retry: bool = False

    @property
    def type(self) -> str:
        """The URI that identifies it."""
        return PREFIX + self.name


_COUNTED = "your upload may already be counted"
# First in the order in which uploads are checked; then the problems of releases; then the rest.
KINDS: Mapping[str, ProblemKind] = {
    kind.name: kind
    for kind in (
        ProblemKind("length", 400, "The upload does not have the length that the bundle requires."),
        ProblemKind("bundle", 422, "The upload is for another bundle."),
        ProblemKind("stratum", 422, "The upload names a stratum that does not exist."),
        ProblemKind(
            "sealed", 422, "A sealed report is for another key, or is part of another upload."
        ),
        ProblemKind("not-open", 403, "The collection has not opened yet.", retry=True),
        ProblemKind("closed", 410, f"The collection is closed; {_COUNTED}."),
        ProblemKind("withdrawn", 410, "This upload was withdrawn and is not counted."),
        ProblemKind("code-used", 409, f"The invitation was already used; {_COUNTED}."),
        ProblemKind("code-unknown", 403, "The invitation is not recognized."),
        ProblemKind("too-often", 429, "The same tokens were requested too often."),
        ProblemKind("token", 403, "A token is not valid."),
        ProblemKind(
            "not-found", 410, "The upload can no longer be found: the collection is closed."
        ),
        ProblemKind("signature", 403, "It is not signed with the key in the bundle."),
        ProblemKind("release", 422, "What was signed does not match the bundle."),
        ProblemKind("contradiction", 409, "Something different was already signed."),
        ProblemKind("no-resource", 404, "There is nothing at this address."),
        ProblemKind("method", 405, "This address does not support the method of the request."),
        ProblemKind("slow", 408, "The body did not arrive in time.", retry=True),
        ProblemKind("media-type", 415, "The body has the wrong media type, or is compressed."),
        ProblemKind("busy", 503, "The service is busy; try again.", retry=True),
        ProblemKind(
            "full", 507, "The service is out of storage space; try again later.", retry=True
        ),
        ProblemKind(
            "fault", 500, "The service has an internal error; try again later.", retry=True
        ),
    )
}
# The field of a ProtocolError -> its type, where they are named differently.
_FIELDS = {"upload.code": "code-unknown"}
_SIGNED = ("release", "batch", "invitations")  # what services sign


def kind_of(error: ProtocolError) -> ProblemKind:
    """Return the problem type that answers an invalid upload or signed statement."""
    field = error.problems[0].field
    thing, _, part = field.partition(".")
    name = _FIELDS.get(field, part if thing in ("upload", "request") else thing)
    if thing in _SIGNED:
        name = "signature" if part == "signature" else "release"
    return KINDS.get(name, KINDS["fault"])


def document(kind: ProblemKind, detail: str = "") -> bytes:
    """Return the body of a problem response. detail: a sentence that contains no secret."""
    content: dict[str, Any] = {"type": kind.type, "title": kind.title, "status": kind.status}
    return canonical(content | ({"detail": detail} if detail else {})).encode()


def parse_document(data: bytes, status: int) -> tuple[ProblemKind | None, str]:
    """Return the kind of a peer's problem document (None if it is not one of ours) and its text.

    status: the HTTP status, which takes precedence (RFC 9457, section 3.1.2). Raises ProtocolError
    if the data is not a problem document.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("too long")
        content = read_json(data.decode())
        name, text = content["type"], content.get("detail", content.get("title", ""))
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError("not text")
    except (ValueError, KeyError, TypeError, AttributeError):
        allowed = "should be a problem document (RFC 9457)"
        unreadable = InWords(f"with status {status} cannot be read")
        raise ProtocolError.of("answer", unreadable, allowed) from None
    kind = KINDS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return kind if kind and kind.status == status else None, text
