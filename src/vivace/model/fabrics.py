"""Fabrics by name: a sheet of something that everybody knows, with the values that make it so.

    model = vv.Model.of(mesh, vv.fabric("denim"))           # masses, springs and hinges of denim
    model = vv.made_of(model, vv.fabric("silk"))            # the same body, of silk: friction and damping too

Where the values come from. Surface densities are those under which such fabrics are sold (silk habotai of 16 momme,
percale of 130 g/m², denim of 13 oz/yd², garment leather and rubber sheet of 1 mm, wool felt of 3 mm). Rigidities of
woven fabrics are of the order that Kawabata's instruments measure [kawabata1980], 0.02 to 3 gf cm²/cm, which is 2e-6 to
3e-4 N m; for leather, rubber and felt they are E t³/12, and the stretch is E t, with E = 20, 1.5 and 1 MPa. Hinges have
a fifth of a rigidity, the mean over directions (see `Cloth`). A net of springs has one stiffness along the threads and
across them, where a weave is softer by far: the stretch of woven fabrics lies between the two, so that they neither
lengthen visibly under their own weight nor stand stiff in shear. Friction is against a smooth dry surface. Damping is
what air and the friction of threads take from a motion, told as a rate. They are typical values and not measurements of
one piece: two bolts of cotton differ by more than a factor of two in bend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..checks import check_name
from ..constraints import ConstraintGroup, Role
from ..errors import InputError
from ..registry import Registry
from .materials import Cloth
from .model import Model

HINGES = ("hinge", "curved-hinge", "dihedral", "creased-hinge", "creased-dihedral")
KNOWN = ("spring", "weld", *HINGES)


@dataclass(frozen=True)
class Fabric(Cloth):
    """A sheet that knows how it slides and how it calms down. What it has of `Cloth` makes it a material.

    Attributes:
        friction: Coulomb's coefficient against what it touches.
        damping: rate at which it loses its motion (1/s): the model's `air`.
        thickness: of the sheet (m). Contacts keep at least this distance; most scenes keep more, because a mesh cannot
            follow a curve more closely than its edges do. Of several, `model.collide(thickness={"coat": felt})`.
    """

    friction: float = 0.4
    damping: float = 0.5
    thickness: float = 5e-4


FABRICS: Registry[Callable[[], Fabric]] = Registry("fabric")


def fabric(name: str) -> Fabric:
    """A fabric by its name: silk, cotton, denim, leather, rubber, felt, or one's own.

    @vv.FABRICS.register("tweed")
    def tweed() -> vv.Fabric:
        '''One line that the page shows.'''
        return vv.Fabric(density=0.35, stretch=8e3, bend=2e-5)
    """
    return FABRICS[check_name("fabric", name, FABRICS)]()


def summary_of(name: str) -> str:
    """The first line of what a fabric says of itself."""
    return (FABRICS[name].__doc__ or "").strip().partition("\n")[0]


@FABRICS.register("silk")
def silk() -> Fabric:
    """Habotai: light, slippery, falls into fine folds and floats in the air."""
    return Fabric(density=0.07, stretch=6e2, bend=4e-7, friction=0.2, damping=0.8, thickness=1.5e-4)


@FABRICS.register("cotton")
def cotton() -> Fabric:
    """Percale, as of sheets and shirts: soft folds of the width of a finger."""
    return Fabric(density=0.13, stretch=3e3, bend=4e-6, friction=0.45, damping=0.5, thickness=3e-4)


@FABRICS.register("denim")
def denim() -> Fabric:
    """Heavy twill: few, wide folds that keep their shape."""
    return Fabric(density=0.44, stretch=1.2e4, bend=6e-5, friction=0.55, damping=0.5, thickness=9e-4)


@FABRICS.register("leather")
def leather() -> Fabric:
    """Garment leather of 1 mm: heavy, stands out from an edge and does not crease."""
    return Fabric(density=0.85, stretch=2e4, bend=3e-4, friction=0.6, damping=0.6, thickness=1e-3)


@FABRICS.register("rubber")
def rubber() -> Fabric:
    """Latex sheet of 1 mm: stretches under its own weight, wobbles, and sticks to what it lies on."""
    return Fabric(density=0.95, stretch=1.5e3, bend=2.5e-5, friction=1.0, damping=0.15, thickness=1e-3)


@FABRICS.register("felt")
def felt() -> Fabric:
    """Wool felt of 3 mm: thick and light for its thickness, bends in wide curves and comes to rest at once."""
    return Fabric(density=0.6, stretch=3e3, bend=4e-4, friction=0.7, damping=1.5, thickness=3e-3)


def is_sheet(model: Model) -> bool:
    """Whether a model is cloth through and through, so that it can be made of another fabric."""
    groups = [group for group in model.groups if group.kind.role is not Role.TARGET]
    springs = sum(len(group) for group in groups if group.kind.name == "spring")
    mesh = model.mesh
    return (
        bool(len(mesh.triangles))
        and not mesh.is_volumetric
        and not model.terms
        and springs == len(mesh.edges)
        and all(group.kind.name in KNOWN for group in groups)
    )


def made_of(model: Model, fabric: Fabric) -> Model:
    """The same sheet of another fabric: masses, springs, hinges, friction, damping and the distance of contacts.

    What holds it stays: pins and seams are as firm beside the new springs as they were beside the old.
    """
    if not isinstance(fabric, Fabric):
        raise InputError(f"a fabric is made by vivace.fabric(name) or vivace.Fabric(...), not {fabric!r}")
    if not is_sheet(model):
        raise InputError(
            f"{model.mesh.name!r} is no plain sheet of cloth, so that it cannot be made of another fabric; "
            "fabrics are for triangles with a spring for each edge"
        )
    dihedral = any(group.kind.name in ("dihedral", "creased-dihedral") for group in model.groups)
    hinges = replace(fabric, bending="dihedral" if dihedral else fabric.bending).constraints(model.mesh)[1:]
    before = max(group.stiffest for group in model.groups if group.kind.name == "spring")
    groups: list[ConstraintGroup] = []
    for group in model.groups:
        if group.kind.name == "spring":
            groups.append(_weighing(group, np.full(len(group), float(fabric.stretch))))
        elif group.kind.name not in HINGES:
            groups.append(_weighing(group, group.weights * (fabric.stretch / before)))
    last = max(k for k, group in enumerate(groups) if group.kind.name == "spring") + 1
    collisions = model.collisions
    if collisions is not None:
        apart, each = max(collisions.thickness, fabric.thickness), collisions.thicknesses
        each = None if each is None else np.maximum(each, fabric.thickness)
        rough = fabric.friction, fabric.friction
        collisions = replace(collisions, friction=rough, thickness=apart, thicknesses=each)
    return replace(
        model,
        masses=fabric.masses(model.mesh),
        groups=(*groups[:last], *hinges, *groups[last:]),
        air=fabric.damping,
        collisions=collisions,
    )


def _weighing(group: ConstraintGroup, weights: np.ndarray) -> ConstraintGroup:
    weights.setflags(write=False)
    return replace(group, weights=weights)
