"""A mesh read in a process of its own: `python -m vivace.viewer.mesh_process FILE OUT`.

Files come from whoever has the page, and readers of mesh formats were not written for enemies: the process has limits
of memory and time, and what it leaves is plain arrays. Errors are a line on standard error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..errors import FileError, InputError, VivaceError
from ..mesh import Mesh
from ..scenes.own import load_leniently
from .mesh_content import check_content

MEMORY = 3 << 30  # bytes of address space, of which the libraries take most
SECONDS = 60  # to read a file
MOST_VERTICES = 100_000
MOST_ELEMENTS = 500_000  # triangles, or tetrahedra


def read_in_process(path: Path, name: str) -> Mesh:
    """Read a file that somebody sent, under a name to call it by; FileError or InputError says why not."""
    check_content(path.suffix, path.read_bytes())
    with tempfile.TemporaryDirectory(prefix="vivace-") as folder:
        target = Path(folder) / "mesh.npz"
        command = [sys.executable, "-m", "vivace.viewer.mesh_process", str(path), str(target)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=2 * SECONDS
            )
        except subprocess.TimeoutExpired:
            raise FileError(f"reading it took longer than {2 * SECONDS} s; simplify it") from None
        if done.returncode != 0 or not target.is_file():
            said = (done.stderr.strip().splitlines() or [""])[-1]
            told = done.returncode == 1 and said.startswith("refused: ")
            why = said.removeprefix("refused: ") if told else "it is damaged, or needs more memory or time than it may"
            raise FileError(why.replace(str(path), "the file"))
        with np.load(target, allow_pickle=False) as read:
            groups = {"seams": read["seams"]} if len(read["seams"]) else None
            if len(read["tets"]):
                return Mesh.from_tets(read["vertices"], read["tets"], name=name, groups=groups)
            return Mesh.from_triangles(read["vertices"], read["triangles"], name=name, groups=groups)


def main(source: str, target: str) -> int:
    """Read `source`, write arrays to `target`; the exit code of the process."""
    _limit()
    try:
        mesh = load_leniently(Path(source))
        elements = max(len(mesh.triangles), len(mesh.tets))
        if mesh.n_vertices > MOST_VERTICES or elements > MOST_ELEMENTS:
            raise InputError(
                f"it has {mesh.n_vertices:,} vertices and {elements:,} elements; the page takes {MOST_VERTICES:,} and "
                f"{MOST_ELEMENTS:,}: simplify it in a modelling program"
            )
    except (VivaceError, MemoryError) as error:
        text = "it needs more memory than it may" if isinstance(error, MemoryError) else str(error)
        print("refused: " + " ".join(text.split())[:400], file=sys.stderr)
        return 1
    seams = mesh.groups.get("seams", np.zeros(0, np.int32))
    triangles = np.zeros((0, 3), np.int32) if mesh.is_volumetric else mesh.triangles
    np.savez(target, vertices=mesh.vertices, triangles=triangles, tets=mesh.tets, seams=seams)
    return 0


def _limit() -> None:
    """Where the system has limits for a process."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
