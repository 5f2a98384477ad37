"""Arrow files (Feather) and streams, read as a whole."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc

from incrowd.encoding.formats.reader import Reader
from incrowd.encoding.sources import AnswersSource

FILE = b"ARROW1"


class _Arrow(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns."""
        content = source.whole()
        open_it = pa.ipc.open_file if content.startswith(FILE) else pa.ipc.open_stream
        with open_it(pa.BufferReader(content)) as read:
            return read.read_all()


READER = _Arrow()
