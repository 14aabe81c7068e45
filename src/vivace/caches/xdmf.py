"""XDMF time series for ParaView and VisIt: an .xdmf that says what is where, and an .h5 with the arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from .base import About, CacheFormat, Content, cache_format, check_promise, damaged
from .told import apply_told, told

GRID = """   <Grid Name={name} GridType="Uniform">
    <Time Value="{time!r}"/>
    <Topology TopologyType="Triangle" NumberOfElements="{m}">
     <DataItem Dimensions="{m} 3" NumberType="Int" Precision="4" Format="HDF">{h5}:/triangles</DataItem>
    </Topology>
    <Geometry GeometryType="XYZ">
     <DataItem Dimensions="{n} 3" NumberType="Float" Precision="4" Format="HDF">{h5}:/positions/{frame}</DataItem>
    </Geometry>
{uvs}   </Grid>
"""
CACHE_BYTES = 1 << 18

UVS = """    <Attribute Name="st" AttributeType="Vector" Center="Node">
     <DataItem Dimensions="{n} 3" NumberType="Float" Precision="4" Format="HDF">{h5}:/uvs</DataItem>
    </Attribute>
"""


@cache_format(".xdmf")
class Xdmf(CacheFormat):
    """XDMF time series."""

    title = "XDMF time series"
    needs = "h5py"
    foreign = True
    companions = (".h5",)

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        import h5py

        self._data = h5py.File(self.path.with_suffix(".h5"), "w")
        _limit_cache(self._data)
        self._data.attrs["vivace"] = about.provenance()
        self._shown = shown = about.parted
        self._count = about.vertices if shown.source is None else len(shown.source)
        self._data["triangles"] = shown.triangles
        if shown.uvs is not None:  # vectors have three components
            self._data["uvs"] = np.column_stack([shown.uvs, np.zeros(len(shown.uvs), np.float32)])
        self._positions = self._data.create_group("positions")
        self._text = self.path.open("w", encoding="utf-8")
        self._text.write('<?xml version="1.0" encoding="utf-8"?>\n<Xdmf Version="3.0">\n <Domain>\n')
        self._text.write(f'  <Information Name="vivace" Value={quoteattr(about.provenance())}/>\n')
        self._text.write(f'  <Grid Name={quoteattr(about.name)} GridType="Collection" CollectionType="Temporal">\n')

    def write(self, positions: np.ndarray, time: float) -> None:
        """A set of positions, and where it is."""
        about, where = self.about, {"n": self._count, "h5": escape(self.path.with_suffix(".h5").name)}
        frame = f"{self.written:06d}"
        data = self._positions.create_dataset(frame, data=self._shown.at(positions))
        data.attrs["time"] = time
        uvs = "" if self._shown.uvs is None else UVS.format(**where)
        text = GRID.format(name=quoteattr(about.name), time=time, m=len(about.triangles), frame=frame, uvs=uvs, **where)
        self._text.write(text)

    def finish(self) -> None:
        """Close what is open."""
        self._text.write("  </Grid>\n </Domain>\n</Xdmf>\n")
        self.close()

    def close(self) -> None:
        """Close both files."""
        self._text.close()
        self._data.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """What we wrote; the .h5 beside it has everything. Files of other programs are not read."""
        import h5py

        beside = path.with_suffix(".h5")
        if not beside.is_file():
            raise damaged(path, f"{beside.name}, which has its arrays, is not beside it")
        try:
            file = h5py.File(beside, "r")
            group = _own(path, file, "positions")
            if not isinstance(group, h5py.Group):
                raise damaged(path, "positions is no group of frames")
            positions = [_array(path, group, name) for name in sorted(group)]
            triangles = _array(path, file, "triangles")
            n = int(positions[0].shape[0]) if positions else 0
            check_promise(path, len(positions), n, beside.stat().st_size)
            if any(part.shape != (n, 3) or part.dtype.kind != "f" for part in positions):
                raise damaged(path, "its frames are not all of one shape")
            times = np.array([float(part.attrs["time"]) for part in positions])
            uvs = _array(path, file, "uvs") if "uvs" in file else None
            said = told(str(file.attrs.get("vivace", "")))
            check_promise(path, 1, max(len(triangles), 0 if uvs is None else len(uvs)), beside.stat().st_size)
            content = Content(len(positions), n, _frames(path, file, positions), np.array(triangles), times)
            content.uvs = None if uvs is None else np.array(uvs)[:, :2]
        except (OSError, KeyError, ValueError, TypeError, RuntimeError, IndexError) as error:
            raise error if isinstance(error, type(damaged(path, ""))) else damaged(path, str(error)[:100]) from None
        return apply_told(content, said)


def _limit_cache(file: Any) -> None:
    """What HDF5 keeps of the headers of frames: by default up to 32 MB, 1 KB and more for each frame."""
    limits = file.id.get_mdc_config()
    limits.set_initial_size, limits.initial_size = True, CACHE_BYTES
    limits.min_size, limits.max_size = CACHE_BYTES // 2, CACHE_BYTES
    file.id.set_mdc_config(limits)


def _own(path: Path, group: Any, name: str) -> Any:
    """What has a name in a group, and lies there: a link to elsewhere is not followed."""
    import h5py

    link = group.get(name, getlink=True)
    if link is None:
        raise damaged(path, f"its arrays have no {name}")
    if not isinstance(link, h5py.HardLink):
        raise damaged(path, f"{name} is a link to elsewhere")
    return group[name]


def _array(path: Path, group: Any, name: str) -> Any:
    """An array of a file that lies in that file."""
    import h5py

    found = _own(path, group, name)
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual or found.file != group.file:
        raise damaged(path, f"{name} is no array of its own")
    return found


def _frames(path: Path, file: Any, positions: list[Any]) -> Iterator[np.ndarray]:
    """`file` is held: without it there is nothing to read."""
    for part in positions:
        try:
            yield np.asarray(part[...], np.float32)
        except (OSError, RuntimeError) as error:
            raise damaged(path, str(error)[:100]) from None
    file.close()
