"""Archives of office programs, with the same bytes for the same content."""

from __future__ import annotations

import io
import re
import zipfile

_MOMENT = (2000, 1, 1, 0, 0, 0)  # of every file in the archive
_CHANGED = re.compile(rb"<dcterms:(created|modified)[^>]*>[^<]*</dcterms:\1>")


def reproducible(content: bytes) -> bytes:
    """Return the same archive without the time at which it was written."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part = old.read(name)
            if name == "docProps/core.xml":
                part = _CHANGED.sub(b"", part)
            new.writestr(zipfile.ZipInfo(name, _MOMENT), part, zipfile.ZIP_DEFLATED)
    return written.getvalue()
