"""From a closed surface to a body: tetrahedra by TetGen, an optional library."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..checks import check_size, is_number, shown
from ..errors import InputError, MissingExtraError
from . import measure, topology
from .mesh import Mesh, as_mesh

# TetGen runs in a process and a folder of its own: on a surface that crosses itself it leaves files where it is
# started, and on some it crashes.
_WORKER = """
import json, sys
import numpy, tetgen
surface = numpy.load("surface.npz")
try:
    filler = tetgen.TetGen(surface["vertices"], surface["triangles"])
    nodes, tets = filler.tetrahedralize(nobisect=True, **json.loads(sys.argv[1]))[:2]
except RuntimeError as error:
    sys.exit(str(error))
numpy.savez("body.npz", nodes=nodes, tets=tets)
"""


def require_closed(mesh: Mesh) -> None:
    """Raise unless `mesh` is a surface without holes; an edge of three triangles no Mesh can have."""
    if as_mesh(mesh).is_volumetric:
        raise InputError(f"{mesh.name!r} is made of tetrahedra already; use it as it is")
    if not len(mesh.triangles):
        raise InputError(f"{mesh.name!r} has no triangles; only a closed surface can be filled with tetrahedra")
    rim = topology.boundary_edges(mesh.triangles)
    if len(rim):
        raise InputError(
            f"{mesh.name!r} is not closed: {len(rim)} edges have one triangle only (first: edge {rim[0].tolist()}); "
            "fill the holes in a modelling program, or simulate it as cloth"
        )


def tetrahedralise(
    mesh: Mesh, *, max_volume: float | None = None, quality: float = 1.5, seconds: float | None = None
) -> Mesh:
    """Fill a closed surface with tetrahedra. The surface stays as it is; its vertices come first and keep their groups.

    Args:
        mesh: a closed surface without self-intersections.
        max_volume: volume to stay below, in m³; None leaves it to `quality`. A few tetrahedra at the surface, which may
            not be split, can be larger.
        quality: largest ratio of a tetrahedron's circumradius to its shortest edge, above 1; smaller is better shaped
            and needs more tetrahedra.
        seconds: after which TetGen is given up; None: as long as it takes.

    Raises:
        MissingExtraError: without the `tetgen` library.
        InputError: if the surface is open or crosses itself, or filling it takes longer than `seconds`.
    """
    if max_volume is not None:
        check_size("max_volume (in m³)", max_volume)
    if not is_number(quality) or not quality > 1.0:
        raise InputError(f"quality must be above 1 (a circumradius to edge ratio), not {shown(quality)}")
    require_closed(mesh)
    if importlib.util.find_spec("tetgen") is None:
        raise MissingExtraError("tetrahedralising a surface", "tets")
    options: dict[str, float] = {"minratio": float(quality)}
    if max_volume is not None:
        options |= {"fixedvolume": True, "maxvolume": float(max_volume)}
    nodes, tets = _run(mesh, options, seconds)
    inverted = measure.tet_volumes(nodes, tets) < 0
    tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
    kept = len(nodes) >= mesh.n_vertices and np.array_equal(nodes[: mesh.n_vertices], mesh.vertices)
    groups, surface = (mesh.groups, mesh.surface) if kept else (None, None)
    return Mesh.from_tets(nodes, tets, name=mesh.name, groups=groups, repair=True, surface=surface)


def _run(mesh: Mesh, options: dict[str, float], seconds: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and tetrahedra that TetGen makes of a surface."""
    with tempfile.TemporaryDirectory(prefix="vivace-") as name:
        folder = Path(name)
        np.savez(folder / "surface.npz", vertices=mesh.vertices, triangles=mesh.triangles)
        command = [sys.executable, "-c", _WORKER, json.dumps(options)]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise InputError(f"TetGen did not fill {mesh.name!r} within {seconds} s; simplify the surface") from None
        if done.returncode != 0 or not (folder / "body.npz").is_file():
            last = (done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"])[-1]
            raise InputError(
                f"TetGen cannot fill {mesh.name!r} ({last}); the surface probably crosses itself: "
                "repair it in a modelling program"
            )
        with np.load(folder / "body.npz") as body:
            return body["nodes"], body["tets"]
