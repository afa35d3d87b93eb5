"""Keeps Arrow tables that may be too large for memory in files that are mapped into it; knows no rule about pairs."""

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa
from datasets.table import MemoryMappedTable

from as2lib.intact import keep_within_bound, seal, sealed
from as2lib.paths import work_folder, written_whole

LARGE = 64 << 20  # bytes of text past which pairs are kept on disk
_ROWS = 65_536  # of a batch on disk


def kept(name: str, tables: Iterable[pa.Table]) -> MemoryMappedTable:
    """Tables of one schema, one after the other, as `work/<name>.arrow`; drawn and written where it is not as it was.

    name: with a hash of what makes them.  A page of the file is read when it is used, and the system may forget it.
    """
    path, tables = work_folder() / f"{name}.arrow", iter(tables)
    if not sealed(path):
        first = next(tables)
        with written_whole(path) as temporary:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, first.schema) as writer:
                for table in chain([first], tables):
                    writer.write_table(table, max_chunksize=_ROWS)
            seal(temporary)
        keep_within_bound(path)
    return MemoryMappedTable.from_file(str(path))
