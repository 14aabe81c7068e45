"""The rigid bodies among the soft ones of a simulation.

A vertex has three unknowns, a rigid body six, and contacts tie them together. A substep goes back and forth between
both, so that each sees the other give way:

    soft     the solver makes its rounds with bodies that move as was thought last; contacts end with forces F
    rigid    (M + h² K) (u' - u) = M (u_free - u) - h Σ Jᵀ F + Jᵀ λ        K = Σ Jᵀ w (n nᵀ + g (I - n nᵀ)) J

K is how fast the forces of contacts grow as a body moves (w is their stiffness in the solver, g the grip of friction,
1 where a vertex sticks), λ are the impulses between rigid bodies. Without K a light body on a heavy cloth would be
thrown to and fro: what answers to its kick is the cloth. With K the answer is that of a body that drags the vertices
along as they are, too slow and never too fast. The rest comes with the next turn or the next substep: the momentum that
a body has not been given yet is carried over, as far as it is small.

Solvers hold what is too close with more force in every turn, F and then F + w d with the depth d (the method of
multipliers): bodies answer to that force, or they would be thrown back when it comes. From one substep to the next
contacts with free bodies remember a share only of what their force has changed by: enough for what rests, and little
of a blow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..checks import as_numbers
from ..collisions.colliders import Collider
from ..collisions.contacts import ContactForces
from ..collisions.moving import Poses, Pushes
from ..collisions.patches import NEAR, triangles_of
from ..collisions.settings import Collisions
from ..collisions.thickness import thickness_at, thickness_of_elements
from ..errors import InputError
from ..model import Model
from ..rigid import rotation
from ..rigid.bodies import Body
from ..rigid.contacts import ContactPoints
from ..rigid.geometry import mass_properties
from ..rigid.kernels.springs import add_springs
from ..solvers import Budget, Outcome
from .attached import Attached
from .report import BodiesReport
from .rigid_simulation import BegunSubstep, RigidSimulation, SolvedSubstep

TURNS, LEAST_TURNS = 8, 4  # in a substep; where there is little time
FEW_TURNS = 3  # with two, 200 bodies stretch a tablecloth to many times its size
REMEMBERED = 0.3  # of the change of a contact's force with a body that gives way
LATER = 10  # iterations of the contact solver in all turns of a substep but the first
FASTEST = 1.0  # rad
OWED = 0.2  # of a body's speed
MOVING = ("positions", "orientations", "velocities", "spins")  # of bodies
CARRIED = ("forces", "springs", "moved", "owed")  # of what soft bodies do to them


class RigidPart:
    """Rigid bodies that a model touches (`Model.collide`), in motion."""

    def __init__(self, settings: Collisions, gravity: np.ndarray, threads: int):
        self._made_of = settings.colliders, settings.bodies
        for collider in settings.colliders:
            try:
                Body(collider, fixed=True)
            except InputError:
                raise InputError(
                    f"rigid bodies cannot touch a {type(collider).__name__}; the hull of its mesh is ConvexMesh(mesh)"
                ) from None
        still = [Body(collider, fixed=True) for collider in settings.colliders]
        self.first, self._thicknesses = len(still), settings.per_vertex  # and of triangles, a share of theirs
        self._near = NEAR * self._thicknesses
        self.rigid = RigidSimulation([*still, *settings.bodies], gravity=gravity.tolist(), substeps=1, threads=threads)
        bodies = self.rigid.bodies
        made = mass_properties(bodies.shapes)
        self._made = made.positions[self.first :], made.rotations[self.first :]
        count = len(bodies)
        self._forces, self._springs = np.zeros((count, 6)), np.zeros((count, 6, 6))  # of contacts, when last felt
        self._renewed = np.zeros((count, 6))  # what these forces would become
        self._moved = np.zeros((count, 6))  # with what velocities bodies moved then
        self._owed = np.zeros((count, 6))  # momentum that bodies have not been given yet
        self.attached: Attached | None = None
        self._pressed = self._forces, self._springs  # those of contacts alone
        self._begun: BegunSubstep
        self._found: SolvedSubstep
        self._shown, self._apart = np.zeros((count, 6)), np.zeros((count, 6))
        self.turn_ns = 0  # what a turn between soft and rigid bodies took last

    def turns(self, budget: Budget, substeps: int) -> int:
        """How often to go to and fro: eight times, or four at least where time is short, with two iterations each."""
        most = max(1, min(TURNS, budget.most_iterations // (2 * substeps)))
        if budget.ms is None or not self.turn_ns:
            return most
        return min(most, max(LEAST_TURNS, int(1e6 * budget.ms / (substeps * self.turn_ns))))

    def noted(self, outcome: Outcome, turns: int) -> Outcome:
        """What came of a substep; it says so if there were too few turns for bodies that give way."""
        if turns >= FEW_TURNS:
            return outcome
        few = f"bodies that give way need {2 * FEW_TURNS} iterations a substep, or cloth is thrown about"
        return replace(outcome, note="; ".join(part for part in (outcome.note, few) if part))

    # --- what a user reads ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rigid.bodies) - self.first

    def __repr__(self) -> str:
        return f"<{len(self)} rigid bodies among soft ones>"

    @property
    def positions(self) -> np.ndarray:
        """(B, 3) centres of mass of the model's bodies, in the order of `Model.collide`, in m; a copy."""
        return self.rigid.positions[self.first :]

    @property
    def orientations(self) -> np.ndarray:
        """(B, 4) unit quaternions, the scalar first; a copy."""
        return self.rigid.orientations[self.first :]

    @property
    def velocities(self) -> np.ndarray:
        """(B, 3) in m/s; a copy."""
        return self.rigid.velocities[self.first :]

    @property
    def spins(self) -> np.ndarray:
        """(B, 3) angular velocities, in rad/s; a copy."""
        return self.rigid.spins[self.first :]

    @property
    def shapes(self) -> list[Collider]:
        """Their geometries, where they were made."""
        return list(self.rigid.bodies.shapes[self.first :])

    @property
    def masses(self) -> np.ndarray:
        """(B,) in kg; infinite for bodies that contacts do not move."""
        return self.rigid.bodies.masses[self.first :].copy()

    @property
    def forces(self) -> np.ndarray:
        """(B, 6) forces (N) and torques (N m) on them beside gravity and contacts; write into it to change them."""
        return self.rigid.forces[self.first :]

    @property
    def free(self) -> bool:
        """Whether one of them is pushed by what it touches."""
        return bool(self.rigid.bodies.movable.any())

    def are(self, settings: Collisions) -> bool:
        """Whether these are the bodies and colliders of a model's settings."""
        return self._made_of == (settings.colliders, settings.bodies) and self._thicknesses.max() == settings.thickness

    def report(self) -> BodiesReport:
        """What the last step did to them."""
        begun = self._begun.contacts
        kinetic = self.rigid.bodies.kinetic_energy()
        return BodiesReport(self.positions, self.orientations, len(begun), begun.depth, kinetic)

    # --- what is carried from step to step --------------------------------------------------------------------------

    def memory(self) -> dict[str, np.ndarray]:
        """All that the next step needs of earlier ones: copies, by name."""
        bodies, contacts = self.rigid.bodies, self.rigid.contacts
        own = {name: getattr(bodies, name) for name in MOVING} | {name: getattr(self, f"_{name}") for name in CARRIED}
        own |= {f"contacts.{name}": array for name, array in vars(contacts).items()}
        own |= {"impulses": self.rigid.impulses, "time": np.array(self.rigid.time), "loads": self.rigid.forces}
        own |= {} if self.attached is None else {"attached": self.attached.forces}
        return {f"bodies.{name}": np.array(array) for name, array in own.items()}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `memory` gave."""
        own = {name[7:]: array for name, array in memory.items() if name.startswith("bodies.")}
        count = len(self.rigid.bodies)
        if own.get("positions", np.zeros((0, 3))).shape != (count, 3):
            raise InputError(f"the state has no poses of the {count} rigid bodies and colliders of this simulation")
        held = np.zeros((0, 3)) if self.attached is None else self.attached.forces
        if own.get("attached", np.zeros((0, 3))).shape != held.shape:
            raise InputError(f"the state has no forces of the {len(held)} vertices attached to rigid bodies")
        if self.attached is not None:
            self.attached.forces = own["attached"].copy()
        parts = {name[9:]: array.copy() for name, array in own.items() if name.startswith("contacts.")}
        contacts = ContactPoints(**parts)
        contacts.check(count, own["impulses"])
        for name in CARRIED:
            as_numbers(f"{name} of the state's bodies", own[name], getattr(self, f"_{name}").shape)
        as_numbers("loads of the state's bodies", own["loads"], self.rigid.forces.shape)
        for name in MOVING:
            getattr(self.rigid.bodies, name)[:] = own[name]
        for name in CARRIED:
            setattr(self, f"_{name}", own[name].copy())
        self.rigid.contacts, self.rigid.impulses = contacts, own["impulses"].copy()
        self.rigid.time, self.rigid.forces = float(own["time"]), own["loads"].copy()

    def attach(self, model: Model, h: float) -> None:
        """Hold what the model attaches to bodies, in substeps of h seconds; and how thick it is."""
        if model.collisions is not None:
            self._thicknesses = model.collisions.per_vertex
            self._near = NEAR * thickness_of_elements(self._thicknesses, model.mesh.triangles)
        if not model.attachments:
            self.attached = None
            return
        if self.attached is None or self.attached.made_of is not model.attachments:
            self.attached = Attached(model)
        self.attached.fit(model, h)

    # --- a substep --------------------------------------------------------------------------------------------------

    def may_give_way(self, touched: np.ndarray) -> bool:
        """Whether soft bodies may push or pull a free one; `touched`: (c,) numbers of what they touch."""
        held = self.attached is not None and bool(self.attached.free.any())
        return held or bool(self._are_movable(touched).any())

    def _are_movable(self, numbers: np.ndarray) -> np.ndarray:
        """(c,) whether what contacts call by these numbers is a body that gives way; animated meshes come last."""
        known = np.append(self.rigid.bodies.movable, False)
        return np.asarray(known[np.minimum(numbers, len(known) - 1)])

    def begin(self, h: float, expected: np.ndarray) -> tuple[Poses, Poses]:
        """Where bodies are, and where they will probably be: as if the soft bodies went on as they did.

        `expected`: (n, 4) where vertices would be then.
        """
        self._begun = self.rigid.begin_substep(h)
        self._inertia = self._inertias()
        before = self._poses(self.rigid.bodies.positions, self._begun.turned)
        if self.attached is not None:
            self._shown = self._moved
            pulls = self.attached.pulls(self.after(), expected)
            self._add(pulls, pulls.renewed, pulls.stiffness, self._forces)
        self._answer(self._forces, self._moved, None)
        self._forces, self._springs = np.zeros_like(self._forces), np.zeros_like(self._springs)
        return before, self.after()

    def after(self) -> Poses:
        """Where bodies are when the substep ends, as far as is known."""
        h, bodies = self._begun.h, self.rigid.bodies
        turned = rotation.product(rotation.exponential(h * self._shown[:, 3:]), bodies.orientations)
        matrices = rotation.matrices(rotation.normalised(turned))
        return self._poses(bodies.positions + h * self._shown[:, :3], matrices)

    def feel(self, forces: ContactForces | None, positions: np.ndarray) -> bool:
        """Take the forces of the soft bodies' contacts and attachments; whether some act on a body that is free."""
        self._forces[:], self._renewed[:], self._springs[:] = 0.0, 0.0, 0.0
        felt = False if forces is None else self._take(forces)
        self._pressed = self._forces.copy(), self._springs.copy()
        if self.attached is not None:
            felt |= self._take(self.attached.pull(positions))
        return felt

    def _take(self, forces: ContactForces) -> bool:
        """Add forces to those that bodies feel; whether some act on a body that is free."""
        self._add(forces, forces.forces, np.zeros_like(forces.stiffness), self._forces)
        return self._add(forces, forces.renewed, forces.stiffness, self._renewed)

    def _add(self, of: ContactForces, forces: np.ndarray, stiffness: np.ndarray, total: np.ndarray) -> bool:
        bodies = self.rigid.bodies
        which = (of.ids & ((1 << 31) - 1)).astype(np.int64)
        mine = (which >= self.first) & self._are_movable(which)
        if not mine.any():
            return False
        which = which[mine]
        centres = bodies.positions[which] + self._begun.h * self._shown[which, :3]
        normals = of.normals[mine]
        arms = of.points[mine] - self._kept(of.ids[mine])[:, None] * normals - centres
        add_springs(which, arms, normals, -forces[mine], stiffness[mine], of.grip[mine], total, self._springs)
        return True

    def _kept(self, ids: np.ndarray) -> np.ndarray:
        """(c,) how far (m) from their bodies contacts keep vertices and points of triangles."""
        of_patch, apart = ids < 0, np.empty(len(ids))
        apart[of_patch] = thickness_at(self._near, triangles_of(ids[of_patch]))
        apart[~of_patch] = thickness_at(self._thicknesses, ids[~of_patch] >> 31)
        return apart

    def forget_some(self, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What contacts remember of their forces: of those with bodies that give way, a share of the change in a step.

        A blow is over when the next step begins. Remembered, its force would push until the body is far enough away.
        """
        if "contacts.keys" not in before or not len(after["contacts.keys"]):
            return after
        keys, forces = after["contacts.keys"], after["contacts.forces"].copy()
        mine = self._are_movable(keys & ((1 << 31) - 1))
        old = np.zeros_like(forces)
        at = np.searchsorted(before["contacts.keys"], keys)
        inside = at < len(before["contacts.keys"])
        same = inside.copy()
        same[inside] = before["contacts.keys"][at[inside]] == keys[inside]
        old[same] = before["contacts.forces"][at[same]]
        forces[mine] = old[mine] + REMEMBERED * (forces[mine] - old[mine])
        return {**after, "contacts.forces": forces}

    def answer(self) -> Poses:
        """Bodies give way to the forces that they feel; where they end then."""
        self._answer(self._renewed, self._found.velocities, self._found.solution.impulses)
        return self.after()

    def end(self, pushes: Pushes | None, masses: np.ndarray, positions: np.ndarray) -> None:
        """Go on to the new poses.

        `pushes`: what the guard had to get out of bodies, of vertices with these masses, and where they all are now;
        what it has given to them is taken from the bodies.
        """
        begun, found = self._begun, self._found
        if self.attached is not None and not self.attached.free.any():  # others have been asked in every turn
            self.attached.pull(positions)
        if pushes is not None:
            pushes = pushes.selected(self.rigid.bodies.movable[pushes.colliders + self.first])
        if pushes is not None and len(pushes.vertices):
            which = pushes.colliders + self.first
            centres = self.rigid.bodies.positions[which] + begun.h * self._shown[which, :3]
            arms = (
                positions[pushes.vertices, :3]
                - thickness_at(self._thicknesses, pushes.vertices) * pushes.normals
                - centres
            )
            resisting = masses[pushes.vertices] / begun.h**2
            momenta = -begun.h * resisting[:, None] * pushes.ways
            none = np.zeros(len(which))
            add_springs(which, arms, pushes.normals, momenta, resisting, none, self._owed, self._springs)
        movable = self.rigid.bodies.movable
        given = np.einsum("mij,mj->mi", self._inertia, found.velocities - begun.free)
        should = begun.h * self._forces + found.problem.momenta(found.solution.impulses)
        self._owed = self._bounded(np.where(movable[:, None], self._owed + should - given, 0.0))
        self._moved = found.velocities
        self._forces, self._springs = self._pressed  # what is attached is asked again
        self.rigid.end_substep(begun, found, self._shown, begun.h)
        self.rigid.time += begun.h

    def _answer(self, forces: np.ndarray, last: np.ndarray, start: np.ndarray | None) -> None:
        """Velocities for forces (M, 6) that were found while bodies moved with `last`."""
        begun, h, rigid = self._begun, self._begun.h, self.rigid
        push = h * forces + self._owed
        held = np.flatnonzero(self._springs.any(axis=(1, 2)))
        free, springs = begun.free.copy(), None
        loose = rigid.bodies.movable & push.any(axis=1)
        loose[held] = False
        free[loose] += np.linalg.solve(self._inertia[loose], push[loose][:, :, None])[:, :, 0]
        if len(held):
            inverse = np.linalg.inv(self._inertia[held] + h**2 * self._springs[held])
            lacks = np.einsum("hij,hj->hi", self._inertia[held], free[held] - last[held]) + push[held]
            free[held] = last[held] + np.einsum("hij,hj->hi", inverse, lacks)
            springs = held, inverse
        self._found = rigid.solve_substep(begun, free, springs, start, iterations=None if start is None else LATER)
        self._turn_slowly(held)
        if start is None:  # what overlaps is moved apart once, however many turns there are
            self._apart = rigid.apart(self._found, begun, h)
        self._shown = self._found.velocities + self._apart

    def _turn_slowly(self, held: np.ndarray) -> None:
        """Bodies that touch soft ones turn by a radian in a substep at most: contacts do not follow faster ones."""
        spins = self._found.velocities[held, 3:]
        size = np.linalg.norm(spins, axis=1)
        self._found.velocities[held, 3:] *= np.minimum(1.0, FASTEST / (self._begun.h * np.maximum(size, 1e-30)))[
            :, None
        ]

    def _bounded(self, owed: np.ndarray) -> np.ndarray:
        """What bodies are owed, as far as it is small: what solvers leave unsolved of a heap would throw them about.

        No more than a fifth of their speed and two substeps of gravity, of the spin likewise.
        """
        bodies, free = self.rigid.bodies, self.rigid.bodies.movable
        fall = 2.0 * self._begun.h * np.linalg.norm(self.rigid.gravity)
        out = owed.copy()
        arm = np.sqrt(np.trace(bodies.inertias[free], axis1=1, axis2=2) / (2.0 * bodies.masses[free]))
        for part, now, least in ((slice(0, 3), bodies.velocities, fall), (slice(3, 6), bodies.spins, fall / arm)):
            change = np.linalg.solve(self._inertia[free][:, part, part], owed[free, part][:, :, None])[:, :, 0]
            most = OWED * np.linalg.norm(now[free], axis=1) + least
            out[free, part] *= np.minimum(1.0, most / np.maximum(np.linalg.norm(change, axis=1), 1e-30))[:, None]
        return out

    def _inertias(self) -> np.ndarray:
        """(M, 6, 6) masses and moments of inertia in world axes; zero for bodies that cannot be moved."""
        bodies, turned = self.rigid.bodies, self._begun.turned
        out = np.zeros((len(bodies), 6, 6))
        free = bodies.movable
        out[free, :3, :3] = bodies.masses[free, None, None] * np.eye(3)
        out[free, 3:, 3:] = turned[free] @ bodies.inertias[free] @ turned[free].transpose(0, 2, 1)
        return out

    def _poses(self, positions: np.ndarray, turned: np.ndarray) -> Poses:
        """From the world to where the bodies were made."""
        places, turns = self._made
        back = turns @ turned[self.first :].transpose(0, 2, 1)
        return Poses(back, places - np.einsum("kij,kj->ki", back, positions[self.first :]))
