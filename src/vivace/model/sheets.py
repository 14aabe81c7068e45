"""Cloth of triangles: stiffness along warp and weft that does not depend on how a sheet is divided (docs/cloth.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from ..checks import STIFFEST, is_number, shown
from ..constraints import ConstraintGroup, make_group
from ..constraints.dihedral import angles
from ..constraints.hinge import coefficients
from ..constraints.membrane import frames_of
from ..constraints.plate import flattened
from ..errors import InputError
from ..mesh import Mesh, topology
from .materials import FLAT, MATERIALS, check_creases, crease_law, share
from .patches import giving_way, patches

SHARP = 1.0  # rad: the fold at an edge beyond which a surface has no curvature to speak of, and hinges take over
MOST = 0.3  # share of its rigidity that a mesh may lose by giving way, and that is made up for
DIRECTIONS = 12  # in which the hinges of a mesh are asked how stiff they are


@MATERIALS.register("sheet")
@dataclass(frozen=True)
class Sheet:
    """Cloth whose stiffness is that of the material, whatever its mesh: a membrane and a plate for each triangle.

        vv.Sheet(density=0.2, stretch=2e3, weft=1e3, shear=50.0, bend=1e-5)
        vv.Sheet.of(youngs_modulus=1e6, thickness=1e-3, density=950.0)  # a plate of 1 mm

    Attributes:
        density: surface density (kg/m²).
        stretch: stiffness of the membrane along the warp (N/m): the force on an edge of one metre for a strain of one.
        weft: likewise across it; None: that of the warp.
        shear: likewise of shear (N/m), force by angle; None: half the root of the two, which is isotropic.
        bend: flexural rigidity along the warp (N·m): moment on an edge of one metre for a curvature of 1/m; 0: none.
        bend_weft: likewise across it; None: that of the warp.
        angle: of the warp (degrees), from the x axis, in the plane of each triangle at rest.
        crease: curvature (1/m) beyond which it keeps what it is bent by; None: it springs back. As of `Cloth`.
        hardening: by how much (1/m) the curvature at which it yields grows for each 1/m that it has kept.
        creep: time (s) in which what is beyond falls to 1/e; 0: at once.
    """

    density: float = 0.2
    stretch: float = 1e4
    weft: float | None = None
    shear: float | None = None
    bend: float = 1e-4
    bend_weft: float | None = None
    angle: float = 0.0
    crease: float | None = field(default=None, kw_only=True)
    hardening: float = field(default=0.0, kw_only=True)
    creep: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None and item.default is None:
                continue
            if not is_number(value):
                raise InputError(f"Sheet: {item.name} must be a finite number, not {shown(value)}")
            if item.name == "angle":
                continue
            if value < 0 or (value == 0 and item.name in ("density", "stretch")):
                wanted = "positive" if item.name in ("density", "stretch") else "zero or positive"
                raise InputError(f"Sheet: {item.name} must be {wanted}, not {value!r}")
            if value > STIFFEST:
                raise InputError(
                    f"Sheet: {item.name} must be at most {STIFFEST:g}, so that float32 holds it, not {value!r}"
                )
        check_creases(self)

    @classmethod
    def of(cls, *, youngs_modulus: float, thickness: float, density: float) -> Sheet:
        """A sheet of an isotropic material without lateral contraction: E t, E t³/12 and ρ t.

        Args:
            youngs_modulus: E, in Pa.
            thickness: t, in m.
            density: ρ, in kg/m³.
        """
        for name, value in (("youngs_modulus", youngs_modulus), ("thickness", thickness), ("density", density)):
            if not is_number(value) or not value > 0:
                raise InputError(f"Sheet.of: {name} must be positive, not {shown(value)}")
        bend = youngs_modulus * thickness**3 / 12.0
        return cls(density=density * thickness, stretch=youngs_modulus * thickness, bend=bend)

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each triangle's mass, shared equally by its corners."""
        if not len(mesh.triangles):
            raise InputError(f"a sheet needs triangles, and mesh {mesh.name!r} has none; use Wire for edges alone")
        return share(mesh.n_vertices, mesh.triangles, self.density * mesh.triangle_areas())

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """A membrane for each triangle and, if there is any rigidity, a plate; hinges where it is folded sharply."""
        weft = self.stretch if self.weft is None else self.weft
        shear = 0.5 * float(np.sqrt(self.stretch * weft)) if self.shear is None else self.shear
        along = self.warp(mesh)
        shares = {"weft": weft / self.stretch, "shear": shear / self.stretch}
        groups = [make_group("membrane", mesh.vertices, mesh.triangles, self.stretch, along=along, **shares)]
        if self.bend > 0 and len(mesh.hinges):
            groups.append(self._bending(mesh, along))
        return groups

    def warp(self, mesh: Mesh) -> np.ndarray:
        """The direction of the warp in each triangle at rest, (m, 3)."""
        u, v = frames_of(mesh.vertices[mesh.triangles], (1.0, 0.0, 0.0))
        turned: np.ndarray = np.cos(np.radians(self.angle)) * u + np.sin(np.radians(self.angle)) * v
        return turned

    def _bending(self, mesh: Mesh, along: np.ndarray) -> ConstraintGroup:
        weft = self.bend if self.bend_weft is None else self.bend_weft
        shares = {"weft": weft / self.bend, "twist": float(np.sqrt(weft / self.bend))}
        law = crease_law(self)
        plate, hinge = ("creased-plate", "creased-hinge") if law else ("plate", "hinge")
        fold = float(np.abs(angles(mesh.vertices[mesh.hinges])).max(initial=0.0))
        found = patches(mesh.vertices, mesh.triangles) if fold < SHARP else None
        if found is not None and fold < FLAT:
            even = make_group("plate", mesh.vertices, found, 1.0)
            lost = giving_way(even, mesh.n_vertices, np.unique(topology.boundary_edges(mesh.triangles)))
            stiffer = self.bend / (1.0 - min(lost, MOST))
            return make_group(plate, mesh.vertices, found, stiffer, along=along, **shares, **law)
        if found is not None:
            plate = plate if law else "curved-plate"
            return make_group(plate, mesh.vertices, found, self.bend, along=along, **shares, **law)
        mean = float(np.sqrt(self.bend * weft)) or self.bend
        hinge = hinge if law or fold < FLAT else "curved-hinge"
        return make_group(hinge, mesh.vertices, mesh.hinges, mean / hinge_rigidity(mesh), **law)


def hinge_rigidity(mesh: Mesh) -> float:
    """The flexural rigidity of the mesh's hinges for a stiffness of one, in the mean over all directions of bending."""
    rest = unfolded(mesh.vertices[mesh.hinges])
    rows, area = coefficients(rest)
    u, v = frames_of(rest[:, :3], (1.0, 0.0, 0.0))
    flat, of = flattened(rest, u, v)
    flat *= np.sqrt(2.0 * of)[:, None, None]
    total = 0.0
    for angle in np.arange(DIRECTIONS) * np.pi / DIRECTIONS:
        bent = 0.5 * np.square(flat @ np.array([np.cos(angle), np.sin(angle)]))  # a curvature of one
        total += float((3.0 / area) @ np.square(np.einsum("mk,mk->m", rows, bent)))
    return total / DIRECTIONS / float(mesh.triangle_areas().sum())


def unfolded(rest: np.ndarray) -> np.ndarray:
    """Hinges (m, 4, 3) with their last vertex turned about the edge into the plane of the others."""
    x0, x1, x2, x3 = (rest[:, k] for k in range(4))
    e = (x1 - x0) / np.linalg.norm(x1 - x0, axis=1, keepdims=True)

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = np.einsum("mc,mc->m", x - x0, e)[:, None] * e
        return along, x - x0 - along

    _, across = parts(x2)
    along, other = parts(x3)
    size = np.linalg.norm(other, axis=1, keepdims=True) / np.linalg.norm(across, axis=1, keepdims=True)
    return np.stack([x0, x1, x2, x0 + along - size * across], axis=1)
