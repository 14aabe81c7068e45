"""A mesh read in a process of its own: `python -m vivace.viewer.mesh_process FILE OUT`.

Files come from whoever has the page, and readers of mesh formats were not written for enemies: the process has limits
of memory and time, and what it leaves is plain arrays. Errors are a line on standard error.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from ..confined import confined, run_confined
from ..errors import FileError, InputError
from ..mesh import Mesh
from ..mesh.lenient import load_leniently  # that of scenes takes a second more to import
from ..mesh.mesh import as_mesh
from ..storage import read_container, unpack, write_container
from .mesh_content import check_content

MOST_VERTICES = 100_000
MOST_ELEMENTS = 500_000  # triangles, or tetrahedra


def read_in_process(path: Path, name: str) -> Mesh:
    """Read a file that somebody sent, under a name to call it by; FileError or InputError says why not."""
    check_content(path.suffix, path.read_bytes())
    with tempfile.TemporaryDirectory(prefix="vivace-") as folder:
        target = Path(folder) / "mesh"
        try:
            run_confined("vivace.viewer.mesh_process", [str(path), str(target)], target)
        except FileError as error:  # whoever sent it knows it under another name
            raise FileError(str(error).replace(str(path), "the file")) from None
        stored = read_container(target, "a mesh")
        read = as_mesh(unpack(stored.about["value"], stored.arrays))
        # Made again, so that it is checked here, too.
        known: dict[str, Any] = {"name": name, "groups": read.groups, "surface": read.surface}
        if read.is_volumetric:
            return Mesh.from_tets(read.vertices, read.tets, **known)
        return Mesh.from_triangles(read.vertices, read.triangles, **known)


def main(source: str, target: str) -> int:
    """Read `source`, write arrays to `target`; the exit code of the process."""
    return confined(lambda: _read(Path(source), Path(target)))


def _read(source: Path, target: Path) -> None:
    mesh = load_leniently(source)
    elements = max(len(mesh.triangles), len(mesh.tets))
    if mesh.n_vertices > MOST_VERTICES or elements > MOST_ELEMENTS:
        raise InputError(
            f"it has {mesh.n_vertices:,} vertices and {elements:,} elements; the page takes {MOST_VERTICES:,} and "
            f"{MOST_ELEMENTS:,}: simplify it in a modelling program"
        )
    write_container(target, {}, mesh)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
