"""A body ready to be simulated: vertices, masses, constraints, pins. Frozen; every change makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import HEAVIEST, LIGHTEST, STRONGEST, as_list, check_within, is_number, real_array, shown
from ..collisions.animated import AnimatedMesh
from ..collisions.colliders import Collider
from ..collisions.settings import Collisions, as_friction
from ..constraints import ConstraintGroup, Role, make_group
from ..deprecation import renamed_property
from ..errors import InputError
from ..mesh import Mesh
from ..rigid.bodies import Body
from ..storage import storable
from ..terms.term import Term, try_out
from .attachments import Attachment, attached_to, check_attachments, find_body
from .joining import check_parts, joined, models_of
from .materials import Material, default_material
from .paths import Path, PinPath, as_path, check_paths, without
from .pins import pairs_at_one_place, pin_targets, unpinned
from .touching import check_collisions, friction_between, thickness_of

EARTH = (0.0, -9.81, 0.0)
FIRM = 30.0  # times as stiff as the stiffest constraint: beside it, all of a model is soft


@storable("model")
@dataclass(frozen=True, eq=False)
class Model:
    """Arrays that do not change during a simulation. Methods return a new model and leave the old as it is.

        model = Model.of(mesh.cloth(100, 100), Cloth(density=0.2)).pin("top-corners")

    Attributes:
        mesh: the body at rest.
        masses: (n,) kg, all positive.
        groups: constraints, one group for each time they were added.
        gravity: (3,) m/s².
        air: rate at which still air slows a vertex down (1/s).
        viscosity: the damping force is viscosity (s) x stiffness x rate of change. It conserves linear momentum; being
            linear, it also slows rigid rotation, but of hyperelastic elements, which turn freely.
        collisions: what it may touch: see `collide`.
        terms: what else it stores energy in: see `add`.
        attachments: which of its vertices follow rigid bodies: see `attach`.
        paths: which of its pins follow a path: see `pin`.
    """

    mesh: Mesh
    masses: np.ndarray
    groups: tuple[ConstraintGroup, ...]
    gravity: np.ndarray
    air: float = 0.0
    viscosity: float = 0.0
    collisions: Collisions | None = None
    terms: tuple[Term, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    paths: tuple[PinPath, ...] = ()

    @classmethod
    def of(
        cls,
        mesh: Mesh | Iterable[tuple[Mesh, Material | None]],
        material: Material | None = None,
        *,
        names: Iterable[str] | None = None,
        gravity: ArrayLike = EARTH,
        air: float = 0.0,
        viscosity: float = 0.0,
    ) -> Model:
        """Make `mesh` of a material.

        Args:
            mesh: from `vivace.mesh`; or several with their materials, [(mesh, material), ...], see `join`.
            material: Cloth, Sheet, Solid, Jelly, Wire or one's own; None: by the kind of the mesh's elements.
            names: of several.
            gravity: (3,) m/s².
            air: rate at which still air slows a vertex down (1/s).
            viscosity: the damping force is viscosity (s) x stiffness x rate of change.
        """
        if not isinstance(mesh, Mesh) and isinstance(mesh, (list, tuple)) and material is None:
            return cls.join(models_of(cls, mesh, gravity=gravity, air=air, viscosity=viscosity), names=names)
        if not isinstance(mesh, Mesh):
            raise InputError(f"a model is made of a Mesh (vivace.mesh.load, vivace.mesh.cloth, ...), not {shown(mesh)}")
        if names is not None:
            raise InputError("names are for several meshes: [(mesh, material), ...]")
        material = default_material(mesh) if material is None else material
        able = callable(getattr(material, "masses", None)) and callable(getattr(material, "constraints", None))
        if isinstance(material, type) or not able:
            raise InputError(f"a material is an instance such as Cloth() or Solid(), not {shown(material)}")
        terms = getattr(material, "terms", None)
        return cls(
            mesh,
            material.masses(mesh),
            tuple(material.constraints(mesh)),
            as_gravity(gravity),
            air,
            viscosity,
            terms=tuple(as_list("terms", terms(mesh))) if callable(terms) else (),
        )

    @classmethod
    def join(cls, models: Iterable[Model], *, names: Iterable[str] | None = None, name: str = "bodies") -> Model:
        """Several models as one: what they are made of and what holds them stays.

            shirt, belt = vv.Model.of(cotton, vv.Sheet(0.15)), vv.Model.of(strap, vv.Sheet(0.9, bend=3e-4))
            model = vv.Model.join([shirt, belt], names=["shirt", "belt"]).pin("shirt:top")
            model = model.collide([chair], friction=0.3, between=[("shirt", "belt", 0.6), ("shirt", chair, 0.2)])

        Args:
            models: without collisions, which are of the whole; of one gravity, air and viscosity.
            names: part "shirt" is a group of vertices, its group "top" is "shirt:top"; by default "body-0" and so on.
            name: of the whole.
        """
        parts: list[Model] = as_list("models to join", models)
        check_parts(parts, cls)
        mesh, masses, groups, terms = joined(parts, names, name)
        return cls(mesh, masses, groups, parts[0].gravity, parts[0].air, parts[0].viscosity, terms=terms)

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, Mesh):
            raise InputError(
                f"a model is made of a Mesh (vivace.mesh.load, vivace.mesh.cloth, ...), not {shown(self.mesh)}"
            )
        n = self.mesh.n_vertices
        if (masses := real_array(self.masses)) is None:
            raise InputError(f"masses must be numbers of shape ({n},), not {shown(self.masses)}")
        object.__setattr__(self, "masses", masses)
        groups = tuple(as_list("groups of constraints", self.groups))
        if not all(isinstance(group, ConstraintGroup) for group in groups):
            raise InputError(f"groups of constraints are made by Model.constrain, not {shown(self.groups)}")
        object.__setattr__(self, "groups", groups)
        check_collisions(self.collisions, n)
        object.__setattr__(self, "gravity", as_gravity(self.gravity))
        if self.masses.shape != (n,):
            raise InputError(f"masses must have shape ({n},), not {self.masses.shape}")
        bad = np.flatnonzero(~(np.isfinite(self.masses) & (self.masses > 0)))
        if len(bad):
            raise InputError(
                f"every vertex needs a positive, finite mass; vertex {bad[0]} has {self.masses[bad[0]]} kg "
                f"({len(bad)} such vertices)"
            )
        bad = np.flatnonzero((self.masses < LIGHTEST) | (self.masses > HEAVIEST))
        if len(bad):
            raise InputError(
                f"vertex {bad[0]} has a mass of {self.masses[bad[0]]} kg ({len(bad)} such vertices); it must lie "
                f"between {LIGHTEST:g} and {HEAVIEST:g} kg, so that float32 holds it over a squared time step: "
                "change the density"
            )
        for name, unit in (("air", "1/s"), ("viscosity", "s")):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                raise InputError(f"{name} damping must be finite and not negative, not {shown(value)} {unit}")
        for term in as_list("terms", self.terms):
            if not isinstance(term, Term):
                raise InputError(f"a term is an instance of a class derived from vivace.Term, not {shown(term)}")
        check_attachments(self.attachments, () if self.collisions is None else self.collisions.bodies)
        pinned, times = np.unique(self.pinned, return_counts=True)
        if (times > 1).any():
            twice = pinned[np.argmax(times > 1)]
            if twice in (held := attached_to(self.attachments)):
                raise InputError(f"vertex {twice} is attached to {held[twice]} and would be held twice")
            raise InputError(f"vertex {twice} is pinned twice; move its target instead")
        check_paths(self.paths, pinned, attached_to(self.attachments))
        for name in ("masses", "gravity"):  # copies: the caller's own arrays stay as they are
            array = getattr(self, name)
            if array.flags.writeable or array.base is not None:
                array = array.copy()
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        parts = ", ".join(f"{len(group)} x {group.kind.name}" for group in self.groups)
        parts = ", ".join([parts or "no constraints", *(type(term).__name__ for term in self.terms)])
        return f"<Model of {self.mesh!r}: {parts}>"

    @property
    def n(self) -> int:
        """How many vertices."""
        return self.mesh.n_vertices

    @cached_property
    def pinned(self) -> np.ndarray:
        """The pinned vertices, in the order of their targets."""
        pins = [group.vertices[:, 0] for group in self.groups if group.kind.role is Role.TARGET]
        found = np.concatenate(pins) if pins else np.zeros(0, np.int32)
        found.setflags(write=False)
        return found

    @property
    def targets(self) -> np.ndarray:
        """Where the pins hold them at first, (p, 3)."""
        pins = [group.parameters for group in self.groups if group.kind.role is Role.TARGET]
        return np.concatenate(pins) if pins else np.zeros((0, 3))

    def constrain(self, name: str, vertices: ArrayLike, stiffness: ArrayLike, **options: Any) -> Model:
        """Add constraints of a registered type; `vivace list constraints` shows them.

        Args:
            name: of the type, such as "spring".
            vertices: (m, k) numbers of the vertices of each constraint.
            stiffness: one for all, or (m,); its unit depends on the type.
            **options: the type's own, such as `scale` of springs.
        """
        group = make_group(name, self.mesh.vertices, vertices, stiffness, **options)
        return replace(self, groups=(*self.groups, group))

    def add(self, *terms: Term) -> Model:
        """Add energy terms of one's own: see `vivace.Term`. For solvers that need no projections, such as `newton`."""
        model = replace(self, terms=(*self.terms, *terms))
        for term in terms:
            try_out(term, self.mesh.vertices, self.targets)
        return model

    def collide(
        self,
        colliders: Collider | Body | AnimatedMesh | Iterable[Collider | Body | AnimatedMesh] = (),
        *,
        thickness: float | Mapping[str, Any] = 0.004,
        friction: float | tuple[float, float] = 0.3,
        itself: bool = True,
        stiffness: float | None = None,
        guard: bool = True,
        sleep: float = 0.0,
        between: Iterable[tuple[Any, Any, Any]] = (),
    ) -> Model:
        """Let the body touch colliders, rigid bodies, its own surface and other bodies of the model.

        Args:
            colliders: one, or several: of `vivace.collisions`, which stand still, `vivace.Body`, which may move, or
                `vivace.AnimatedMesh`, which deforms.
            thickness: the distance that contacts keep (m); or of each group, {"shirt": 0.002, "else": 0.008}, of which
                surfaces keep the mean. Of overlapping groups the last counts; "else" is what is in none.
            friction: Coulomb's coefficient, or (static, kinetic).
            itself: whether surfaces of the model touch each other, one body's own and those of several.
            stiffness: of contacts in projective dynamics (N/m), see docs/collisions.md; not in position based ones.
            guard: check after every solve that no surface has passed through another, and keep apart what would; costs
                about as much as finding the contacts.
            sleep: a vertex in contact that a step would move by less than this share of the thickness stays where it
                is [macklin2014], so that a heap comes to rest.
            between: friction of pairs, (one, other, friction): groups of vertices, or one and a collider or rigid body
                as it stands in `colliders`, or its number there. The last that holds counts.
        """
        one = isinstance(colliders, Body | AnimatedMesh) or callable(getattr(colliders, "distance", None))
        touching = (colliders,) if one else as_list("colliders", colliders)
        bodies = tuple(thing for thing in touching if isinstance(thing, Body))
        animated = tuple(thing for thing in touching if isinstance(thing, AnimatedMesh))
        still = tuple(thing for thing in touching if not isinstance(thing, Body | AnimatedMesh))
        pairs = tuple(friction_between(self.mesh, still, bodies, row) for row in as_list("pairs of friction", between))
        most, each = thickness_of(self.mesh, thickness)
        how = most, as_friction(friction), itself, stiffness, guard, sleep
        return replace(self, collisions=Collisions(still, *how, bodies, pairs, animated, each))

    def pin(
        self,
        where: str | Sequence[int] | np.ndarray,
        *,
        stiffness: float | None = None,
        target: ArrayLike | None = None,
        path: Path | None = None,
    ) -> Model:
        """Hold vertices at their targets, which may move.

            model.pin("top", path=vv.Keyframes([0, 1], shifts=[[0, 0, 0], [0.5, 0, 0]]))
            model.pin("top", path=lambda time: [0.5 * np.sin(time), 0, 0])
            model.pin("waist", path=vv.caches.read("waist.abc"))

        Args:
            where: a group's name, or numbers of vertices.
            stiffness: in N/m; by default 30 times the stiffest weight in the model.
            target: one position for all, or one for each: in the order of `where`, or of the vertices for a named
                group. By default where they are at rest.
            path: how they move: `vivace.Keyframes` or a function of the time (s) that tells how far they are from
                their targets, or an Animation, or a function, that tells where they are, in the same order. See
                `vivace.model.paths`.
        """
        index = self.mesh.select(where)
        if not len(index):
            raise InputError("there is nothing to pin: the selection is empty")
        listed = not isinstance(where, str) and np.size(where) == len(index)
        order = np.argsort(np.asarray(where).ravel(), kind="stable") if listed else np.arange(len(index))
        target = None if target is None else pin_targets(target, order)
        if stiffness is not None and not (is_number(stiffness) and stiffness > 0):
            raise InputError(f"a pin's stiffness must be positive, not {shown(stiffness)} N/m")
        held = self.constrain("pin", index, self.pin_stiffness if stiffness is None else stiffness, target=target)
        if path is None:
            return held
        led = as_path(path, index, order, held.groups[-1].parameters, self.n)
        return replace(held, paths=(*self.paths, led))

    def unpin(self, where: str | Sequence[int] | np.ndarray) -> Model:
        """Let go of what is pinned among some vertices; what follows a rigid body stays attached.

        Args:
            where: a group's name, or numbers of vertices.
        """
        held = attached_to(self.attachments)
        free = [vertex for vertex in self.mesh.select(where).tolist() if vertex not in held]
        return replace(self, groups=unpinned(self.groups, free), paths=without(self.paths, np.array(free, np.int64)))

    def attach(
        self,
        where: str | Sequence[int] | np.ndarray,
        *,
        to: str | int,
        stiffness: float | None = None,
    ) -> Model:
        """Let vertices follow a rigid body: where they are at rest, seen from the body where it was made.

            model.collide([vv.Body(Box(...), mass=2.0, name="box")]).attach("left-edge", to="box")

        A body that is free feels them: it hangs on the cloth, or drags it along. They do not touch their own body.

        Args:
            where: a group's name, or numbers of vertices.
            to: the name of a body of `collide`, or its number among them.
            stiffness: in N/m; by default 30 times the stiffest weight in the model, as pins have.
        """
        index = self.mesh.select(where)
        if not len(index):
            raise InputError("there is nothing to attach: the selection is empty")
        bodies = () if self.collisions is None else self.collisions.bodies
        number = find_body(bodies, to)
        if stiffness is not None and not (is_number(stiffness) and stiffness > 0):
            raise InputError(f"the stiffness of an attachment must be positive, not {shown(stiffness)} N/m")
        held, pinned = attached_to(self.attachments), set(self.pinned.tolist())
        for vertex in index.tolist():
            if vertex in held:
                raise InputError(f"vertex {vertex} is attached to {held[vertex]} already")
            if vertex in pinned:
                raise InputError(f"vertex {vertex} is pinned; it cannot be attached to {shown(to)} as well")
        weight = self.pin_stiffness if stiffness is None else stiffness
        group = make_group("pin", self.mesh.vertices, index, weight)
        new = Attachment(index, number, bodies[number])
        return replace(self, groups=(*self.groups, group), attachments=(*self.attachments, new))

    def sew(self, where: str | Sequence[int] | np.ndarray = "seams", *, stiffness: float | None = None) -> Model:
        """Hold together vertices that are at one place at rest.

        Args:
            where: a group's name, or numbers of vertices. The group "seams" is where `split=True` has parted the sheets
                of a surface.
            stiffness: in N/m; by default that of the stiffest constraint.
        """
        index = self.mesh.select(where)
        pairs = pairs_at_one_place(self.mesh.vertices, index)
        if stiffness is not None and not (is_number(stiffness) and stiffness > 0):
            raise InputError(f"the stiffness of a seam must be positive, not {shown(stiffness)} N/m")
        return self.constrain("weld", pairs, self.pin_stiffness / FIRM if stiffness is None else stiffness)

    def stiffened(self, factor: float) -> Model:
        """The same body, `factor` times as stiff: every constraint's weight is multiplied.

        Pins become stiffer with it, so that beside them the body stays as soft as it was; they do not become softer,
        because what holds a body need not give way when it is made of something softer. Terms that have a method
        `scaled(factor)` are scaled, as hyperelastic ones are; others stay as they are.
        """
        if not is_number(factor) or not factor > 0:
            raise InputError(f"a model is stiffened by a positive, finite factor, not {shown(factor)}")
        if factor == 1:
            return self
        groups, factor = tuple(_scaled(g, float(factor)) for g in self.groups), float(factor)
        terms = tuple(getattr(t, "scaled", lambda _, t=t: t)(factor) for t in self.terms)
        return replace(self, groups=groups, terms=terms)

    @property
    def pin_stiffness(self) -> float:
        """A stiffness (N/m) beside which all of the model is soft: 30 times the stiffest weight."""
        known = [*(group.stiffest for group in self.groups), *(getattr(term, "stiffest", 0.0) for term in self.terms)]
        return FIRM * (max(known, default=0.0) or 1e3)

    firm = renamed_property("Model.firm", "pin_stiffness")


def as_gravity(value: ArrayLike) -> np.ndarray:
    """Three finite numbers, m/s²."""
    found = real_array(value)
    if found is None or found.shape != (3,) or not np.isfinite(found).all():
        given = shown(value) if found is None else found.tolist()
        raise InputError(f"gravity must be three finite numbers in m/s², not {given}")
    check_within("gravity", found, STRONGEST, "m/s²")
    return found


def _scaled(group: ConstraintGroup, factor: float) -> ConstraintGroup:
    if group.kind.role is Role.TARGET and factor < 1:
        return group
    with np.errstate(over="ignore"):
        weights = group.weights * factor
    if not np.isfinite(weights).all():
        raise InputError(f"{factor!r} times the stiffness of {group.kind.name!r} is beyond what float64 holds")
    weights.setflags(write=False)
    return replace(group, weights=weights)
