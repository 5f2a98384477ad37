"""Invitations on paper: one to a person, with what the device has to show before it sends."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.presentation.shell import rendered


def invitations_page(
    title: str, short: str, invitations: Sequence[tuple[str, str]], page: str = ""
) -> str:
    """A page to print and cut: code and link of each.

    short: of the bundle's digest. page: address of a survey page, which people open then.
    """
    parts = {"title": title, "short": short, "invitations": invitations, "page": page}
    return rendered("invitations.html", **parts)
