"""What an answer that says no means for the person who sent."""

from __future__ import annotations

from incrowd.collection.device.connection import Reply
from incrowd.errors import InWords, ProtocolError

_COUNTED = "yours may already be counted"
# By the type of problem. The peer's own words are not shown: they may hold anything.
_MEANT = {
    "closed": "nothing should be sent any more",
    "withdrawn": "nothing of it counts; give your answers once more",
    "code-used": "if you sent nothing, ask whoever invited you",
    "code-unknown": "should be the code of your invitation; check every character of it",
    "not-open": "try again when it has opened",
    "not-found": f"{_COUNTED}; it should be withdrawn before the collection closes",
}
_FINAL = "nothing was stored; ask whoever runs this collection"
_LATER = "try again later; the same upload is sent then"
_ELSEWHERE = "nothing is sent to another address; check the link with whoever invited you"


def refused(reply: Reply) -> Exception:
    """The error for an answer that says no; its field is the type of the problem.

    Of an answer that no party of ours gives the field is `answer`.
    """
    found = f"was answered with {reply.status}"
    if reply.kind:
        said = reply.kind.title.rstrip(".")
        found = f"{found} ({said[:1].lower()}{said[1:]})"
    default = _LATER if reply.again else _ELSEWHERE if 300 <= reply.status < 400 else _FINAL
    name = reply.kind.name if reply.kind else "answer"
    return ProtocolError.of(name, InWords(found), _MEANT.get(name, default))
