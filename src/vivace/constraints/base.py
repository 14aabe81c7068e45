"""What a constraint is, and how a new one joins.

A constraint c over k vertices pulls a linear measure of them, z = A_c q, towards the nearest point p of the set where
the constraint is satisfied [fratarcangeli2018, Eq. 13]:

    E_c(q) = w_c / 2 ‖A_c q - p‖²,      p = project(A_c q)

A_c is constant (r x k; for a spring [1, -1], for a tetrahedron the map to its deformation gradient), so it enters the
system matrix once; only `project` runs during the simulation. It is ordinary Python on small arrays and is compiled
into the loops of every solver:

    @constraint("rope", vertices=2, rows=1, parameters=("length",))
    class Rope:
        '''Resists being longer than its length, and nothing else.'''

        @staticmethod
        def prepare(rest, slack=1.0):
            length = slack * np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
            return Prepared(operator=[[1.0, -1.0]], parameters=length[:, None])

        @staticmethod
        def project(z, parameters, p):
            ...

That is all: `model.constrain("rope", pairs, stiffness=1e4)` then works in every solver, position based ones included:
because p is the nearest point, C(q) = ‖A_c q - p‖ has the gradient A_cᵀ (A_c q - p) / C, and that is all they need.

A constraint that is no distance to a set, such as the volume of a tetrahedron or the angle between two triangles, is
written as a number C(x) of its vertices that should be zero, with its gradient (Role.POSITION). Position based solvers
take it as it is, Newton's method as the energy w/2 C²; projective dynamics has no use for it and says so.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..backends.cpu.arguments import phase_kernel
from ..blocks import BLOCK, in_blocks
from ..checks import is_whole, real_array, shown
from ..errors import InputError
from ..registry import Registry
from ..storage import storable


class Role(enum.Enum):
    """Where the projection is computed."""

    PROJECTED = "projected"  # in a pass over the constraints, every few sweeps
    QUADRATIC = "quadratic"  # p = 0: it lives in the matrix alone
    SPRING = "spring"  # springs only: z = q_i - q_j, p = rest length x z/|z|, in the solvers' own kernels
    TARGET = "target"  # pins only: p is given from outside and constant during a step
    POSITION = "position"  # known by C(x) and its gradient: position based solvers and newton


@dataclass(frozen=True)
class Prepared:
    """What `prepare` returns for m constraints at rest.

    Attributes:
        operator: A, (m, r, k), or (r, k) for all; None for Role.POSITION.
        parameters: (m, number of parameters); None where there are none.
        measure: (m,), or one for all: a length, an area, a volume, or 1. The weight is stiffness x measure.
    """

    operator: ArrayLike | None = None
    parameters: ArrayLike | None = None
    measure: ArrayLike | float = 1.0


@dataclass(frozen=True, eq=False)
class ConstraintType:
    """What `@constraint` registers: all that solvers need to know of a type of constraint.

    Attributes:
        name: under which it is registered.
        vertices: k, how many each constraint holds.
        rows: r, how many vectors its operator measures.
        parameters: names of the numbers that each constraint has of its own.
        role: what solvers may do with it.
        prepare: makes operators, parameters and weights of positions at rest.
        project: writes the nearest point of its set; None where the role needs none.
        kernel: a hand-written local pass, where the generated one is not fast enough.
        unit: of the stiffness.
        summary: the first line of its docstring.
        options: names and defaults of what `prepare` takes besides the positions.
        evaluate: Role.POSITION: evaluate(x, parameters, gradient) -> C.
        gradients: a hand-written form for position based solvers.
        curvature: I - ∂p/∂z in closed form; by differences where there is none.
        flow: flow(x, operator, parameters, h) changes parameters after a step of h seconds; returns whether it did.
        flowing: how many parameters it may change: the first ones. They are part of a simulation's state.
    """

    name: str
    vertices: int
    rows: int
    parameters: tuple[str, ...]
    role: Role
    prepare: Callable[..., Prepared]
    project: Callable[..., Any] | None
    kernel: phase_kernel | None  # a hand-written local pass, where the generated one is not fast enough
    unit: str
    summary: str
    options: Mapping[str, object] = field(default_factory=dict)
    evaluate: Callable[..., Any] | None = None  # Role.POSITION: evaluate(x, parameters, gradient) -> C
    gradients: Callable[..., Any] | None = None  # a hand-written form for position based solvers
    curvature: Callable[..., np.ndarray] | None = None
    flow: Callable[..., Any] | None = None
    flowing: int = 0


@storable("constraints")
@dataclass(frozen=True, eq=False)
class ConstraintGroup:
    """m constraints of one type: vertices, A_c, w_c and parameters, in float64. Solvers make their own copies."""

    kind: ConstraintType
    vertices: np.ndarray  # (m, k) int32
    operator: np.ndarray  # (m, r, k)
    weights: np.ndarray  # (m,)
    parameters: np.ndarray  # (m, len(kind.parameters))

    def __len__(self) -> int:
        return len(self.vertices)

    @cached_property
    def stiffest(self) -> float:
        """The largest diagonal entry that one constraint of the group adds to the matrix (N/m); pins do not count."""
        if not len(self) or self.kind.role in (Role.TARGET, Role.POSITION):
            return 0.0
        return float((self.weights * in_blocks(lambda a: (a * a).sum(axis=1).max(axis=1), self.operator)).max())

    def subset(self, some: np.ndarray) -> ConstraintGroup:
        """Those of its constraints that a mask or numbers select."""
        return ConstraintGroup(
            self.kind, self.vertices[some], self.operator[some], self.weights[some], self.parameters[some]
        )

    def follow(self, array: np.ndarray, place: np.ndarray) -> None:
        """A solver's copy of the parameters, constraint c at place[c]: see `LiveGroup`. These here do not change."""

    def stored(self) -> dict[str, Any]:
        """Its arrays, and its type by name; in a file."""
        arrays = {name: getattr(self, name) for name in ("vertices", "operator", "weights", "parameters")}
        return {"kind": self.kind.name, **arrays}

    @classmethod
    def restored(cls, kind: str, **arrays: np.ndarray) -> ConstraintGroup:
        """The same from what is stored of it, after a look at all of it."""
        if kind not in CONSTRAINTS:
            raise InputError(
                f"it has constraints of the type {shown(kind)}, which is not registered here; import the module that "
                f"says @vivace.constraint({shown(kind)}, ...) before you load it"
            )
        known = CONSTRAINTS[kind]
        m = len(np.atleast_1d(arrays.get("weights", np.zeros(0))))
        shapes = {
            "vertices": (m, known.vertices), "operator": (m, known.rows, known.vertices),
            "weights": (m,), "parameters": (m, len(known.parameters)),
        }  # fmt: skip
        for name, shape in shapes.items():
            array, of = arrays.get(name), "i" if name == "vertices" else "f"
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind != of:
                raise InputError(
                    f"the {name} of {m} constraints {kind!r} must have the shape {shape}, not "
                    f"{getattr(array, 'shape', None)}; the type may have changed since they were stored"
                )
            if not np.isfinite(array).all():
                raise InputError(f"the {name} of the constraints {kind!r} are not finite")
        vertices, frozen = arrays["vertices"], {}
        if m and (vertices.min() < 0 or (arrays["weights"] < 0).any()):
            raise InputError(f"constraints {kind!r} have vertices or weights below zero")
        for name in shapes:
            frozen[name] = np.ascontiguousarray(arrays[name], np.int32 if name == "vertices" else np.float64)
            frozen[name].setflags(write=False)
        return cls(known, **frozen)


CONSTRAINTS: Registry[ConstraintType] = Registry("constraint")


def constraint(
    name: str,
    *,
    vertices: int,
    rows: int,
    parameters: tuple[str, ...] = (),
    role: Role = Role.PROJECTED,
    kernel: phase_kernel | None = None,
    gradients: Callable[..., Any] | None = None,
    curvature: Callable[..., np.ndarray] | None = None,
    flowing: int = 0,
    unit: str = "N/m",
) -> Callable[[type], type]:
    """Register a class with `prepare(rest, **options)` and `project(z, parameters, p)` under `name`.

    Then `model.constrain(name, vertices, stiffness, **options)` adds such constraints, in every solver. The head of
    `vivace.constraints.base` and docs/constraints.md tell what the two do; examples/own_constraint.py has an example.
    `project` may be left out for Role.QUADRATIC and Role.TARGET. Role.POSITION has `evaluate(x, parameters, gradient)`
    instead, which returns C and writes its gradient (k, 3), and no operator: rows = 0.

    `kernel` and `gradients` are the same maths written out for speed, for the built-in constraints.
    tests/constraints/test_one_source.py names each and holds it to `project` or `evaluate`.

    Args:
        name: to register it under.
        vertices: k of A_c, how many each constraint holds.
        rows: r of A_c, how many vectors it measures.
        parameters: names of the numbers that `project` reads, one set a constraint.
        role: where the projection is computed.
        kernel: a local pass.
        gradients: rows in, C and rows out.
        curvature: of measures z (m, r, 3) and parameters: I - ∂p/∂z (m, r, 3, r, 3) without negative eigenvalues, for
            Newton's method; by differences of `project` where there is none.
        flowing: how many parameters, the first ones, `flow(x, operator, parameters, h)` may change after every step, as
            the rest shape of what creases does; see `vivace.constraints.crease`.
        unit: of the stiffness, for messages and listings.
    """
    if not isinstance(role, Role):
        raise InputError(f"constraint {shown(name)}: its role is one of {', '.join(map(str, Role))}, not {shown(role)}")
    least = 0 if role is Role.POSITION else 1
    if not is_whole(vertices) or not is_whole(rows):
        given = f"{shown(vertices)} and {shown(rows)}"
        raise InputError(f"constraint {name!r}: vertices and rows must be whole numbers, not {given}")
    if vertices < 1 or rows < least:
        raise InputError(f"constraint {name!r}: vertices and rows must be at least 1, not {vertices} and {rows}")
    if role is Role.POSITION and rows != 0:
        raise InputError(
            f"constraint {name!r}: known by its value alone, it has no operator: rows must be 0, not {rows}"
        )

    def add(cls: type) -> type:
        if role in (Role.SPRING, Role.TARGET) and not cls.__module__.startswith("vivace."):
            raise InputError(f"constraint {name!r}: the role {role.value!r} belongs to the built-in springs and pins")
        prepare, project = getattr(cls, "prepare", None), getattr(cls, "project", None)
        evaluate = getattr(cls, "evaluate", None)
        if not callable(prepare):
            raise InputError(f"constraint {name!r} has no prepare(rest, **options)")
        if role in (Role.PROJECTED, Role.SPRING) and not callable(project):
            raise InputError(f"constraint {name!r} has no project(z, parameters, p)")
        if role is Role.POSITION and not callable(evaluate):
            raise InputError(f"constraint {name!r} has no evaluate(x, parameters, gradient)")
        flow = getattr(cls, "flow", None)
        if not is_whole(flowing) or not 0 <= flowing <= len(parameters) or callable(flow) != (flowing > 0):
            raise InputError(
                f"constraint {name!r}: flow(x, operator, parameters, h) and flowing, how many of its "
                f"{len(parameters)} parameters it changes, go together; flowing is {shown(flowing)}"
            )
        signature = inspect.signature(prepare).parameters
        options = {key: value.default for key, value in list(signature.items())[1:]}
        summary = (inspect.getdoc(cls) or "").partition("\n")[0]
        kind = ConstraintType(
            *(name, vertices, rows, tuple(parameters), role, prepare, project, kernel, unit, summary, options),
            *(evaluate, gradients, curvature, flow, int(flowing)),
        )
        CONSTRAINTS.register(name)(kind)
        return cls

    return add


def make_group(
    name: str, rest: np.ndarray, vertices: ArrayLike, stiffness: ArrayLike, **options: Any
) -> ConstraintGroup:
    """Check and prepare constraints of one registered type.

    Args:
        name: of the type.
        rest: rest positions of all vertices (n, 3), m.
        vertices: (m, k) numbers of the vertices of each constraint.
        stiffness: one for all, or (m,).
        **options: the type's own.
    """
    kind = CONSTRAINTS[name]
    unknown = [key for key in options if key not in kind.options]
    if unknown:
        known = ", ".join(kind.options) or "none"
        raise InputError(f"constraint {name!r} has no option {unknown[0]!r}; its options: {known}")
    try:
        index = np.asarray(vertices)
    except ValueError:
        raise InputError(
            f"constraint {name!r} needs vertices of shape (m, {kind.vertices}), not a ragged list"
        ) from None
    if index.size == 0:
        index = np.zeros((0, kind.vertices), np.int32)
    if index.ndim == 1 and kind.vertices == 1:
        index = index[:, None]
    if index.ndim != 2 or index.shape[1] != kind.vertices or not np.issubdtype(index.dtype, np.integer):
        raise InputError(
            f"constraint {name!r} needs whole-number vertices of shape (m, {kind.vertices}), "
            f"not {index.dtype} of shape {index.shape}"
        )
    bad = np.flatnonzero(((index < 0) | (index >= len(rest))).any(axis=1))
    if len(bad):
        raise InputError(
            f"constraint {name!r}: number {bad[0]} refers to vertices {index[bad[0]].tolist()}, "
            f"but there are vertices 0 to {len(rest) - 1} only"
        )
    ordered = np.sort(index, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(bad):
        raise InputError(f"constraint {name!r}: number {bad[0]} repeats a vertex: {index[bad[0]].tolist()}")

    m = len(index)
    operator, parameters, measure = _prepared(kind, rest, index, options)
    weights = _stiffness(name, stiffness, m, kind.unit) * measure
    for what, array in (("operator", operator), ("parameters", parameters), ("weights", weights)):
        if not np.isfinite(array).all():
            raise InputError(
                f"constraint {name!r}: its {what} are not finite at rest; look for degenerate elements or options"
            )
    if m and kind.project is not None and not kind.project.__module__.startswith("vivace."):
        _try_out(kind, operator[0] @ rest[index[0]], parameters[0])
    if m and kind.evaluate is not None and not kind.evaluate.__module__.startswith("vivace."):
        _try_value(kind, rest[index[0]], parameters[0])
    frozen = [np.ascontiguousarray(a) for a in (index.astype(np.int32), operator, weights, parameters)]
    for array in frozen:
        array.setflags(write=False)
    return ConstraintGroup(kind, *frozen)


def _try_out(kind: ConstraintType, z: np.ndarray, parameters: np.ndarray) -> None:
    """Run a user's projection once in plain Python, where its mistakes have a message."""
    assert kind.project is not None
    p = np.full(z.shape, np.nan)
    try:
        kind.project(z, parameters, p)
    except Exception as error:
        raise InputError(f"constraint {kind.name!r}: project(z, parameters, p) fails at rest: {error!r}") from error
    if not np.isfinite(p).all():
        raise InputError(f"constraint {kind.name!r}: project leaves p unset or not finite at rest; write p[r, c] = ...")


def _try_value(kind: ConstraintType, x: np.ndarray, parameters: np.ndarray) -> None:
    """Likewise a user's C(x)."""
    assert kind.evaluate is not None
    gradient = np.full(x.shape, np.nan)
    try:
        value = kind.evaluate(x, parameters, gradient)
    except Exception as error:
        raise InputError(
            f"constraint {kind.name!r}: evaluate(x, parameters, gradient) fails at rest: {error!r}"
        ) from error
    if value is None or not np.isfinite(value) or not np.isfinite(gradient).all():
        raise InputError(
            f"constraint {kind.name!r}: evaluate must return C and write gradient[k, c] for every vertex k, all finite"
        )


def _prepared(
    kind: ConstraintType, rest: np.ndarray, index: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, ...]:
    """Operators (m, r, k), parameters (m, count) and measures (m,), prepared block by block."""
    m = len(index)
    operator, parameters = np.empty((m, kind.rows, kind.vertices)), np.empty((m, len(kind.parameters)))
    measure = np.empty(m)
    whole = m <= BLOCK or any(np.ndim(value) > 0 for value in options.values())  # an option may have one value for each
    for begin in range(0, m, m if whole else BLOCK) if m else ():
        block = slice(begin, m if whole else begin + BLOCK)
        try:
            part = kind.prepare(rest[index[block]], **options)
        except InputError:
            if not whole:
                kind.prepare(rest[index], **options)  # so that the message counts from the first constraint
            raise
        try:
            if kind.rows:
                operator[block] = part.operator
            parameters[block] = np.zeros((1, 0)) if part.parameters is None else part.parameters
            measure[block] = part.measure
        except (ValueError, TypeError) as error:
            raise InputError(f"constraint {kind.name!r}: what prepare returned does not fit: {error}") from error
    return operator, parameters, measure


def _stiffness(name: str, stiffness: ArrayLike, m: int, unit: str) -> np.ndarray:
    values = real_array(stiffness)
    if values is None:
        raise InputError(f"constraint {name!r}: stiffness must be a number in {unit}, not {shown(stiffness)}")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != m):
        raise InputError(f"constraint {name!r}: stiffness must be one number or {m} numbers, not shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        worst = values.ravel()[np.flatnonzero(~np.isfinite(values.ravel()) | (values.ravel() < 0))[0]]
        raise InputError(f"constraint {name!r}: stiffness must be finite and not negative, not {worst} {unit}")
    return np.broadcast_to(values, (m,))
