"""Tables as files: one row a frame, or a run. A format is an extension and a function; pandas has them, too."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingExtraError
from ..files import replacing, write_text
from ..registry import Registry
from .frames import Row, columns_of

EXTRA = "tables"


@dataclass(frozen=True)
class TableFormat:
    """How a table is written.

    Attributes:
        write: to a path, rows of columns by name.
        needs: the library that must be there.
    """

    write: Callable[[Path, Sequence[Row]], None]
    needs: str = ""

    def check(self) -> None:
        """Complain before a long run rather than after it."""
        if self.needs and find_spec(self.needs) is None:
            raise MissingExtraError("writing Parquet", EXTRA)


TABLES: Registry[TableFormat] = Registry("format of tables")


def table_format(path: Path) -> TableFormat:
    """By the extension of a path."""
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise InputError(f"a table ends in one of {', '.join(TABLES)}, not {path.name!r}")
    return TABLES[suffix]


def _csv(path: Path, rows: Sequence[Row]) -> None:
    text = io.StringIO()
    columns = columns_of(rows)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(path, text.getvalue())


def _parquet(path: Path, rows: Sequence[Row]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet", EXTRA) from error
    table = pyarrow.table({name: pyarrow.array(values) for name, values in columns_of(rows).items()})
    with replacing(path) as temporary:
        pyarrow.parquet.write_table(table, temporary)


TABLES.register(".csv")(TableFormat(_csv))
TABLES.register(".parquet")(TableFormat(_parquet, "pyarrow"))


def to_pandas(rows: Sequence[Row]) -> Any:
    """The rows as a `pandas.DataFrame`, one line a frame, by the number of the frame."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("a DataFrame", EXTRA) from error
    found = pandas.DataFrame(columns_of(rows))
    return found.set_index("frame") if "frame" in found else found
