"""Tables as files: one row a frame, or a run. A format is an extension and a function; pandas and xarray, too."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, MissingExtraError
from ..files import replacing, write_text
from ..registry import Registry
from .frames import Row, columns_of

EXTRA = "tables"
WORDS = ("stopped", "note")  # columns of words, also where no frame has one


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


def to_xarray(rows: Sequence[Row], recorded: Mapping[str, tuple[str, Sequence[np.ndarray]]], about: object) -> Any:
    """The rows as an `xarray.Dataset` by the number of the frame, with what was recorded beside them.

    Words are "" and numbers NaN where a frame has none. All of it can be written to netCDF and Zarr.

    Args:
        rows: the figures of each frame.
        recorded: arrays of each frame by name, each with what its rows are: "vertex" or "body". Without any: left out.
        about: what is kept as the attribute `settings`, as JSON.
    """
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError("a Dataset", EXTRA) from error
    columns = columns_of(rows)
    frames = columns.pop("frame", list(range(1, len(rows) + 1)))
    parts: dict[str, Any] = {name: ("frame", _column(name, values), _unit(name)) for name, values in columns.items()}
    for name, (what, arrays) in recorded.items():
        if len(arrays):
            axes = "axis" if np.shape(arrays[0])[-1] == 3 else "quaternion"
            parts[name] = (("frame", what, axes), np.stack([np.asarray(array) for array in arrays]), _unit(name))
    places: dict[str, Any] = {"frame": frames}
    if "time" in parts:
        places["time"] = parts.pop("time")
    labels = {"axis": list("xyz"), "quaternion": list("wxyz")}
    used = {axis for dimensions, *_ in parts.values() for axis in dimensions if isinstance(dimensions, tuple)}
    places |= {axis: names for axis, names in labels.items() if axis in used}
    return xarray.Dataset(parts, places, {"settings": json.dumps(about, default=str)})


def _column(name: str, values: Sequence[Any]) -> np.ndarray:
    if name in WORDS or any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values])
    if any(value is None for value in values):
        return np.array([math.nan if value is None else float(value) for value in values])
    return np.array(values)


def _unit(name: str) -> dict[str, str]:
    """The unit of a column, as xarray and netCDF say it; empty for counts and ratios."""
    if "ms" in name.split("_"):
        return {"units": "ms"}
    known = {"kinetic_energy": "J", "time": "s", "velocities": "m/s"}
    unit = known.get(name) or ("m" if name.split("_")[-1] in ("depth", "positions") else "")
    return {"units": unit} if unit else {}
