"""What bodies are made of, in SI units: each material turns a mesh into masses and constraints."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np

from ..checks import STIFFEST, check_name, is_number, shown
from ..constraints import ConstraintGroup, make_group
from ..constraints.dihedral import angles
from ..errors import InputError
from ..mesh import Mesh
from ..registry import Registry


class Material(Protocol):
    """What a body is made of. Anything with these two methods is one, and goes to `Model.of(mesh, material)`.

    A third, `terms(mesh)`, may give energy terms (`vivace.Term`), as hyperelastic materials do.

    One of your own:

        @vv.MATERIALS.register("net")  # for [material] kind = "net" in scene files; otherwise not needed
        @dataclass(frozen=True)
        class Net:
            '''Threads of a net; its fields, numbers with defaults, are the entries of a [material] table.'''

            stretch: float = 1e3  # N/m

            def masses(self, mesh):
                return np.full(mesh.n_vertices, 0.01)

            def constraints(self, mesh):
                return [make_group("spring", mesh.vertices, mesh.edges, self.stretch)]

    `vivace.constraints.make_group` makes constraints of any registered type; `vivace list constraints` shows them.
    """

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Mass of each vertex (n,), kg: all positive."""

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """What holds the body together: any number of groups, each of one type."""


MATERIALS: Registry[type] = Registry("material")
BENDINGS = ("isometric", "dihedral")
FLAT = 1e-7  # rad


class Creasing(Protocol):
    """What creases, or does not."""

    @property
    def bend(self) -> float:
        """Stiffness against bending."""

    @property
    def crease(self) -> float | None:
        """The yield curvature (1/m)."""

    @property
    def hardening(self) -> float:
        """By how much that grows."""

    @property
    def creep(self) -> float:
        """The time (s) of its flow."""


def check_creases(material: Creasing) -> None:
    """Hardening and creep are of a crease, and that is of what resists bending."""
    if material.crease is None and (material.hardening or material.creep):
        raise InputError(
            f"{type(material).__name__}: hardening = {material.hardening!r} and creep = {material.creep!r} are of what "
            "creases; give crease too, the curvature (1/m) at which it yields"
        )
    if material.crease is not None and not material.bend:
        raise InputError(
            f"{type(material).__name__}: crease = {material.crease!r} is of what resists bending, and bend is "
            f"{material.bend!r}; give bend too, or no crease"
        )


def crease_law(material: Creasing) -> dict[str, float]:
    """What the constraints of its creases are made with; nothing if it has none."""
    if material.crease is None:
        return {}
    return {"crease": material.crease, "hardening": material.hardening, "creep": material.creep}


def _check(material: object, positive: tuple[str, ...]) -> None:
    for item in fields(material):  # type: ignore[arg-type]
        value = getattr(material, item.name)
        if value is None and item.default is None:
            continue
        if item.name == "bending":
            check_name("bending", value, BENDINGS)
            continue
        if not is_number(value):
            raise InputError(f"{type(material).__name__}: {item.name} must be a finite number, not {shown(value)}")
        if value < 0 or (value == 0 and item.name in positive):
            wanted = "positive" if item.name in positive else "zero or positive"
            raise InputError(f"{type(material).__name__}: {item.name} must be {wanted}, not {value!r}")
        if value > STIFFEST:
            name = type(material).__name__
            raise InputError(
                f"{name}: {item.name} must be at most {STIFFEST:g}, so that float32 holds it, not {value!r}"
            )


def share(n: int, elements: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Each element gives its corners equal parts of its amount."""
    k = elements.shape[1]
    return np.bincount(elements.ravel(), np.repeat(amounts / k, k), minlength=n)


@MATERIALS.register("cloth")
@dataclass(frozen=True)
class Cloth:
    """A sheet: a spring for each edge, a hinge for each pair of triangles.

    Attributes:
        density: surface density (kg/m²).
        stretch: stiffness of each spring (N/m).
        bend: bending stiffness k of each hinge (N·m); 0 leaves the hinges out. The flexural rigidity of the sheet is 3
            k along the edges of a regular grid and up to 9 k across its diagonals: hinges are not isotropic.
        bending: "isometric" [bergou2006], or "dihedral", by the angle (position based solvers and newton).
        crease: curvature (1/m) beyond which it keeps what it is bent by, 2 ε/t of a sheet of the thickness t whose
            surface yields at the strain ε; None: it springs back whatever happens. See `constraints.crease`.
        hardening: by how much (1/m) the curvature at which it yields grows for each 1/m that it has kept.
        creep: time (s) in which what is beyond falls to 1/e; 0: at once.
    """

    density: float = 0.2
    stretch: float = 1e4
    bend: float = 1e-4
    bending: str = "isometric"
    crease: float | None = field(default=None, kw_only=True)
    hardening: float = field(default=0.0, kw_only=True)
    creep: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self, ("density", "stretch"))
        check_creases(self)

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each triangle's mass, shared equally by its corners."""
        if not len(mesh.triangles):
            raise InputError(f"cloth needs triangles, and mesh {mesh.name!r} has none; use Wire for edges alone")
        return share(mesh.n_vertices, mesh.triangles, self.density * mesh.triangle_areas())

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """A spring for each edge and, if there is any bending stiffness, a hinge for each pair of triangles."""
        groups = [make_group("spring", mesh.vertices, mesh.edges, self.stretch)]
        if self.bend > 0 and len(mesh.hinges):
            kind, law = _bending(mesh, self.bending), crease_law(self)
            if law:
                kind = "creased-dihedral" if kind == "dihedral" else "creased-hinge"
            groups.append(make_group(kind, mesh.vertices, mesh.hinges, self.bend, **law))
        return groups


@MATERIALS.register("solid")
@dataclass(frozen=True)
class Solid:
    """A volume of tetrahedra; for small strains the linear elastic solid of these moduli.

    Attributes:
        density: kg/m³.
        youngs_modulus: Pa.
        poisson_ratio: 0 to 0.49; 0 needs no volume constraints, which makes a step cheaper.
    """

    density: float = 1000.0
    youngs_modulus: float = 1e5
    poisson_ratio: float = 0.0

    def __post_init__(self) -> None:
        _check(self, ("density", "youngs_modulus"))
        if self.poisson_ratio > 0.49:
            raise InputError(f"Solid: poisson_ratio must lie in 0 to 0.49, not {self.poisson_ratio!r}")

    @property
    def lame(self) -> tuple[float, float]:
        """μ and λ (Pa)."""
        e, nu = self.youngs_modulus, self.poisson_ratio
        return e / (2 * (1 + nu)), e * nu / ((1 + nu) * (1 - 2 * nu))

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each tetrahedron's mass, shared equally by its corners."""
        if not mesh.is_volumetric:
            raise InputError(
                f"a solid needs tetrahedra, and mesh {mesh.name!r} has none; use vivace.mesh.tetrahedralise, or Cloth"
            )
        return share(mesh.n_vertices, mesh.tets, self.density * mesh.tet_volumes())

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """The strain of each tetrahedron and, with a Poisson ratio, its change of volume."""
        mu, lam = self.lame
        # μ ‖F - R‖² is μ ‖ε‖² for small strain ε; the volume term w/2 ‖F - G‖² is w/6 tr(ε)², so w = 3 λ gives λ/2 tr².
        groups = [make_group("tet-strain", mesh.vertices, mesh.tets, mu)]
        if lam > 0:
            groups.append(make_group("tet-volume", mesh.vertices, mesh.tets, 3 * lam))
        return groups


@MATERIALS.register("jelly")
@dataclass(frozen=True)
class Jelly:
    """A body as position based dynamics has it, of springs and volumes: for position based solvers and `newton`.

    A spring for each edge, a volume for each tetrahedron, and, if asked for, bending of its surface
    [fratarcangeli2013, section 2].

    Attributes:
        density: kg/m³.
        stretch: stiffness of each spring (N/m).
        volume: resistance of each tetrahedron to a change of volume (Pa).
        bend: bending stiffness of the surface (N·m); 0 leaves it out.
        bending: "dihedral", by the angle, or "isometric" [bergou2006].
    """

    density: float = 1000.0
    stretch: float = 1e4
    volume: float = 1e6
    bend: float = 0.0
    bending: str = "dihedral"

    def __post_init__(self) -> None:
        _check(self, ("density", "stretch"))

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each tetrahedron's mass, shared equally by its corners."""
        if not mesh.is_volumetric:
            raise InputError(
                f"jelly needs tetrahedra, and mesh {mesh.name!r} has none; use vivace.mesh.tetrahedralise, or Cloth"
            )
        return share(mesh.n_vertices, mesh.tets, self.density * mesh.tet_volumes())

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """A spring for each edge, and bending and volume as far as these have any stiffness."""
        groups = [make_group("spring", mesh.vertices, mesh.edges, self.stretch)]
        if self.bend > 0:
            groups.append(make_group(_bending(mesh, self.bending), mesh.vertices, mesh.hinges, self.bend))
        if self.volume > 0:
            groups.append(make_group("volume", mesh.vertices, mesh.tets, self.volume))
        return groups


@MATERIALS.register("wire")
@dataclass(frozen=True)
class Wire:
    """Edges alone: a spring for each, its mass shared by its two ends.

    Attributes:
        density: kg/m.
        stretch: stiffness of each spring (N/m).
    """

    density: float = 0.1
    stretch: float = 1e4

    def __post_init__(self) -> None:
        _check(self, ("density", "stretch"))

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each edge's mass, half at either end."""
        ends = mesh.vertices[mesh.edges]
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        return share(mesh.n_vertices, mesh.edges, self.density * lengths)

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """A spring for each edge."""
        return [make_group("spring", mesh.vertices, mesh.edges, self.stretch)]


def default_material(mesh: Mesh) -> Material:
    """What a mesh is made of when nobody says: a solid if it has tetrahedra, cloth if triangles, wire otherwise."""
    return Solid() if mesh.is_volumetric else Cloth() if len(mesh.triangles) else Wire()


def _bending(mesh: Mesh, bending: str) -> str:
    """The kind of hinge for a mesh."""
    if bending == "dihedral":
        return "dihedral"
    return "hinge" if np.abs(angles(mesh.vertices[mesh.hinges])).max(initial=0.0) < FLAT else "curved-hinge"
