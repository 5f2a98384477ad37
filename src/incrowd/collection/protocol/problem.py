"""Problem details (RFC 9457): how services refuse requests, and the registry of their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incrowd.catalog.sentences import sentence
from incrowd.errors import ProtocolError
from incrowd.plans.digests import canonical, read_json

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:incrowd:problem:"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class ProblemKind:
    """A type of problem. code: the code of its text. retry: whether the same bytes may be accepted
    later."""

    name: str
    status: int
    code: str
    retry: bool = False

    @property
    def title(self) -> str:
        """Its text in English, as a sentence, as services state it."""
        text = str(sentence(self.code))
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def type(self) -> str:
        """The URI that identifies it."""
        return PREFIX + self.name


# First in the order in which uploads are checked; then the problems of releases; then the rest.
KINDS: Mapping[str, ProblemKind] = {
    kind.name: kind
    for kind in (
        ProblemKind("length", 400, "collection.type-length"),
        ProblemKind("bundle", 422, "collection.type-bundle"),
        ProblemKind("stratum", 422, "collection.type-stratum"),
        ProblemKind("sealed", 422, "collection.type-sealed"),
        ProblemKind("not-open", 403, "collection.type-not-open", retry=True),
        ProblemKind("closed", 410, "collection.type-closed"),
        ProblemKind("withdrawn", 410, "collection.type-withdrawn"),
        ProblemKind("code-used", 409, "collection.type-code-used"),
        ProblemKind("code-unknown", 403, "collection.type-code-unknown"),
        ProblemKind("too-often", 429, "collection.type-too-often"),
        ProblemKind("token", 403, "collection.type-token"),
        ProblemKind("not-found", 410, "collection.type-not-found"),
        ProblemKind("signature", 403, "collection.type-signature"),
        ProblemKind("release", 422, "collection.type-release"),
        ProblemKind("contradiction", 409, "collection.type-contradiction"),
        ProblemKind("no-resource", 404, "collection.type-no-resource"),
        ProblemKind("method", 405, "collection.type-method"),
        ProblemKind("slow", 408, "collection.type-slow", retry=True),
        ProblemKind("media-type", 415, "collection.type-media-type"),
        ProblemKind("busy", 503, "collection.type-busy", retry=True),
        ProblemKind("full", 507, "collection.type-full", retry=True),
        ProblemKind("fault", 500, "collection.type-fault", retry=True),
    )
}


def kind_of(error: ProtocolError) -> ProblemKind:
    """Return the problem type that answers an invalid upload or signed statement."""
    match error.problems[0].path:
        case "upload", "code":
            name = "code-unknown"
        case "upload" | "request", str(part):
            name = part
        case "release" | "batch" | "invitations", "signature":
            name = "signature"
        case "release" | "batch" | "invitations", *_:
            name = "release"
        case str(thing), *_:
            name = thing
        case _:
            name = "fault"
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
        raise ProtocolError.of("answer", "collection.unreadable-answer", status=status) from None
    kind = KINDS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return kind if kind and kind.status == status else None, text
