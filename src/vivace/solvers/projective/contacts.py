"""Contacts in the layout of projective dynamics: right-hand sides that are computed with the projections.

Contacts come and go, and phases hold addresses; so there is room for a number of contacts, and what is not used is
skipped. Only those that the prediction violates take part: the others would hold their vertices back for nothing.

A contact is a spring, and a step begins where the prediction has pressed it, by g h² at least. With springs as stiff as
cloth (Y_ii is some 1e5 times m/h²) that energy is a hundred thousand times what the vertex had in motion, and what a
few rounds leave of it comes back as velocity: cloth that lands crumples. So for solvers that move everything at once
contacts are 300 times as stiff as a vertex's inertia, m/h². The rest is carried by forces that are remembered: a step
begins with the force N that held a vertex before its wall when the last one ended, which is a plane raised by N/w, and
with its friction T, a place to stick to that is moved by T/w. This is the method of multipliers [nocedal2006, section
17.3] with one update a step, and more where a step leaves vertices behind their walls, because something has pulled
at them (`press`). What rests neither sinks in nor creeps, under any load; and what hits a wall is given back a
three-hundredth of its speed.

For solvers that sweep over vertices contacts are as stiff as the vertices, and nothing is remembered: softer, and a few
sweeps would not feel them; and the forces that a few sweeps end with are not those that hold anything. A body as a
whole is moved by its inertia alone, a ten-thousandth of Y_ii: what the first sweeps have done to it stays for thousands
of them. So friction is right only if all that leads back along the normal leads back across it by μ times as much. But
where springs are projected in the vertex update, a push along a sheet is handed on from vertex to vertex in the same
sweep, and one across it is not: friction on a slope was a fifth too strong, however many sweeps there were. Therefore

    before the first sweep   vertices that touch together with all their neighbours are set on their walls, and friction
                             takes its share. For what lies or slides flat that is the answer. The foot of a solid is
                             left where it is: set on the wall alone it would be crushed, and turn with what crushes it.
    after the last sweep     what is still behind a wall is pushed back to it, and friction takes its share again.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...collisions.contacts import ContactForces, ContactList, Contacts
from ...constraints.kernels.local import gather
from ...energy.kernels.assemble import list_corners
from ...errors import InputError
from ..kernels.contact import begin_contacts
from .kernels.contact import (
    any_behind,
    keep_out,
    press_walls,
    pull_contacts,
    pull_walls,
    remember_walls,
    surrounded,
    take_walls,
)
from .kernels.pushed import take_along
from .patches import Chosen, Patches, holding

NEVER = 2**40  # rounds
PRESSED, PASSES = 0.2, 12  # share of its length by which pushes may change an edge, and passes that see to it
DEEP = 1.0  # times the depth that recovers in a step: vertices that are further behind their walls renew the forces


class ContactStage:
    """base = before + what contacts add. `rank`: where each vertex of the mesh stands in the layout.

    `remembers`: forces of walls are kept from step to step. `graph`: who shares a constraint with whom, CSR;
    `edges`: who shares an edge.
    `room`: contacts that fit; `full` is set when there were more, and the layout has to be made anew with more room.
    `pairs`, `walls`: tables of the passes over them (`kernels.contact`), which leave something for each of a contact's
    vertices in `slots`; those of vertex i begin at `slot_at[i]`.
    """

    def __init__(
        self,
        rank: np.ndarray,
        q: np.ndarray,
        before: np.ndarray,
        base: np.ndarray,
        room: int,
        threads: int,
        *,
        remembers: bool,
        graph: tuple[np.ndarray, np.ndarray],
        edges: tuple[np.ndarray, np.ndarray],
    ):
        self.rank, self.room, self.threads, self._q, self.remembers = rank, room, threads, q, remembers
        self.order = np.argsort(rank).astype(np.int32)
        self.touched = self.full = False
        self.tells = False  # whether somebody will ask for the forces when a solve has ended
        # forces when a solve has ended; ids and numbers of near vertices, where they were, and where walls pushed them
        self._ended: tuple[ContactForces, tuple[np.ndarray, ...]] | None = None
        self._near_ids = np.zeros(0, np.int64)
        self._graph, self._edges = graph, edges
        self._near: dict[str, np.ndarray] = {}  # all walls that are close, as `keep_out` takes them
        self._resting: dict[str, np.ndarray] = {}  # those of vertices that touch with all their neighbours
        n, corners = len(rank), 5 * room
        self.slot_at, self.slots = np.zeros(n + 1, np.int32), np.zeros((corners, 4), np.float32)
        self._pairs, self._walls = self._arrays(4), self._arrays(1)
        self._patches = Patches(self._pairs, remembers=remembers)
        self._keys = np.zeros(room, np.int64)
        self._held: tuple[np.ndarray, np.ndarray]
        self._forces, self._places = (np.zeros((room, 4), np.float32) for _ in range(2))
        self.pressing = np.array([NEVER, 0])  # rounds after which forces may be renewed in a step; whether they were
        self._deep = np.zeros(1, np.float32)
        self.forget()
        passed = {"q": q, "out": self.slots}
        self.pairs, self.walls = {**self._pairs, **passed}, {**pull_walls.select(self._walls), **passed}
        self.phases = [
            Phase(pull_contacts, self.pairs, 0, room),
            Phase(pull_walls, self.walls, 0, room),
            gather.over(0, n, slot_at=self.slot_at, shares=self.slots, constant=before, base=base),
        ]

    def _arrays(self, corners: int) -> dict[str, np.ndarray]:
        room, size = self.room, corners * self.room
        return {
            "vertices": np.zeros(size, np.int32),
            "a": np.zeros(size, np.float32),
            "planes": np.zeros((room, 4), np.float32),
            "before": np.zeros((room, 4), np.float32),
            "friction": np.zeros(2 * room, np.float32),
            "weights": np.zeros(room, np.float32),
            "slots": np.zeros(size, np.int32),
            "used": np.zeros(1, np.int64),
        }

    def load(
        self, contacts: Contacts, previous: np.ndarray, start: np.ndarray, diagonal: np.ndarray, stiffness: float | None
    ) -> np.ndarray | None:
        """Take the contacts of a step; returns what they add to the diagonal (n,), None if nothing has changed.

        `diagonal`: the stiffness that a contact has by default, for each vertex of the mesh.
        """
        walls, pairs = contacts.colliders, self._active(contacts.surfaces, start)
        patches = self._patches.choose(contacts.patches, start, diagonal, stiffness, self._held)
        self._patches.see(contacts.patches, self.rank, previous, contacts.recoveries(contacts.patches.vertices))
        self._deep[0] = DEEP * np.min(contacts.recovery)
        added, lowered = np.zeros(len(self.rank)), np.empty_like(walls.planes)
        to = self._walls
        soft = -1.0 if stiffness is None else float(stiffness)
        count = take_walls(
            *(walls.corners, walls.planes, walls.friction, walls.motions, walls.shares, walls.ids, *self._held),
            *(self.rank, previous, start),
            *(
                diagonal,
                soft,
                contacts.recoveries(walls.vertices).astype(np.float32),
                to["vertices"],
                to["planes"],
                to["before"],
            ),
            *(to["friction"], to["weights"], self._keys, self._places, lowered, added),
        )
        carried = previous[walls.corners]
        if walls.motion is not None:
            carried[:, :3] += walls.motion
        self._near = self._listed(self.rank[walls.corners], lowered, carried, walls.friction)
        self._near_ids = walls.ids
        self._resting = self._rest(min(count, self.room), added)
        over_four = len(pairs[0]) + len(patches.weights)
        touching = count > 0 or over_four > 0
        if not self.touched and not touching:
            return None
        self.touched, self.full = touching, max(count, over_four) > self.room
        to["used"][0] = count = min(count, self.room)
        corners = self._load_pairs(pairs, patches, previous, diagonal, stiffness, contacts, added)
        starts, _, places = list_corners(np.concatenate([corners, to["vertices"][:count]]), len(self.rank))
        self.slot_at[:] = starts
        self._pairs["slots"][: len(corners)] = places[: len(corners)]
        to["slots"][:count] = places[len(corners) :]
        return added

    def _load_pairs(
        self,
        found: tuple[np.ndarray, ...],
        patches: Chosen,
        previous: np.ndarray,
        diagonal: np.ndarray,
        stiffness: float | None,
        contacts: Contacts,
        added: np.ndarray,
    ) -> np.ndarray:
        """Take the contacts over four vertices, adding to `added`; returns their corners in the order of the layout."""
        to, (vertices, a, planes, friction) = self._pairs, found
        reach = np.abs(a).sum(axis=1, keepdims=True)
        weights = np.full(len(a), stiffness)
        if stiffness is None:
            weights = (np.abs(a) / reach * diagonal[vertices]).sum(axis=1)
        own, motion, first = patches.listed, np.zeros((len(a) + len(patches.weights), 4), np.float32), len(a)
        if len(own):
            motion[first:, :3] = own.motions
            parts = (vertices, own.vertices), (a, own.coefficients), (planes, own.planes)
            vertices, a, planes = (np.concatenate(part) for part in parts)
            friction = own.friction if not first else np.concatenate([friction, own.friction])
            weights, reach = np.append(weights, patches.weights), np.append(reach, np.ones(len(own)))[:, None]
        to["used"][0] = count = min(len(vertices), self.room)
        if not count:
            self._patches.settle(0, patches)
            return np.zeros(0, np.int32)
        vertices, a, weights, reach = vertices[:count], a[:count], weights[:count], reach[:count]
        to["vertices"][: vertices.size], to["a"][: a.size] = self.rank[vertices].ravel(), a.ravel()
        to["planes"][:count], to["friction"][: 2 * count] = planes[:count], friction[:count].ravel()
        to["weights"][:count] = weights
        begun = {"a": to["a"], "planes": to["planes"], "before": to["before"], "q": previous, "motion": motion}
        begun |= {
            "vertices": np.ascontiguousarray(vertices),
            "recovery": contacts.recoveries(vertices).astype(np.float32),
        }
        Plan([begin_contacts.over(0, count, **begun)], self.threads).run()
        if not self.full:
            self._patches.settle(first, patches)
        majorant = weights[:, None] * np.abs(a) * reach
        added += np.bincount(vertices.ravel(), majorant.ravel(), minlength=len(added))
        corners: np.ndarray = self.rank[vertices].ravel()
        return corners

    def press(self, r: np.ndarray) -> list[Phase]:
        """Renew the forces of walls, if they do not hold, and with them the residual r."""
        if not self.remembers:
            return []
        renewed = {"places": self._places, "pressing": self.pressing, "deep": self._deep, "r": r}
        return [
            press_walls.over(0, self.room, serial=True, **press_walls.select(self.walls), **renewed),
            self._patches.press(r, self.pressing, self._deep, self._q),
        ]

    def forces(self, inertia: np.ndarray) -> ContactForces | None:
        """What walls held their vertices with when the last solve ended; None where few sweeps do not say.

        `inertia`: m/h² of each vertex of the mesh, which is what it took to push it out in the end.
        """
        if self._ended is None:
            return None
        held, (ids, vertices, x, out) = self._ended
        normals, moved = self._near["planes"][:, :3], out - x
        alone = 1.0 / np.bincount(vertices, minlength=1)[vertices]  # a vertex may have more than one
        resisting = inertia[self.order[vertices]] * alone
        some = np.flatnonzero(moved.any(axis=1))
        pushes, none = (resisting[:, None] * moved)[some], np.zeros(len(some))
        pushed = ContactForces(ids[some], x[some], normals[some], pushes, pushes, resisting[some], none)
        return held.joined(pushed).joined(self._patches.pushed)

    def _held_with(self) -> ContactForces:
        """The forces of the walls and patches that took part, now."""
        walls, count = self.walls, int(self.walls["used"][0])
        x = self._q[walls["vertices"][:count], :3].astype(np.float64)
        planes, before, weights = (walls[name][:count] for name in ("planes", "before", "weights"))
        friction = walls["friction"].reshape(-1, 2)[:count]
        held = holding(self._keys[:count].copy(), x, planes, before, weights, friction, self._places[:count])
        return held.joined(self._patches.held_with(self._q))

    def is_deep(self) -> bool:
        """Whether some vertex is behind its wall by more than a little."""
        walls, count = self.walls, int(self.walls["used"][0])
        behind = any_behind(walls["vertices"], walls["planes"], self._places, self._q, count, self._deep[0])
        return bool(behind) or self._patches.is_deep(self._q, self._deep[0])

    def remembered(self) -> dict[str, np.ndarray]:
        """The forces of the last step: which contacts, and what they held their vertices with."""
        keys, forces = self._held
        return {"contacts.keys": keys.copy(), "contacts.forces": forces.copy()}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `remembered` gave."""
        keys, forces = memory["contacts.keys"], memory["contacts.forces"]
        fits = keys.dtype == self._keys.dtype and forces.dtype == self._forces.dtype and keys.ndim == 1
        if not fits or forces.shape != (len(keys), *self._forces.shape[1:]) or not np.isfinite(forces).all():
            raise InputError("the state's contacts must have as many forces as keys, all finite")
        self._held = keys.copy(), forces.copy()

    def forget(self) -> None:
        """Begin the next step without remembered forces."""
        # contacts that held something when the last step ended, and what they held it with
        self._held = self._keys[:0].copy(), self._forces[:0].copy()

    def take_over(self, other: ContactStage) -> None:
        """Go on with the forces that another stage of the same vertices remembers."""
        self._held = other._held

    def remember(self) -> None:
        """Keep what contacts hold their vertices with: the next step begins with it."""
        count = int(self._walls["used"][0]) if self.remembers else 0
        self._ended = None
        if self.tells and self.remembers and self._near:
            near = self._near["vertices"]
            x = self._q[near, :3].astype(np.float64)
            self._ended = self._held_with(), (self._near_ids, near, x, x)
        if count:
            held = remember_walls.select(self.walls)
            Plan([remember_walls.over(0, count, forces=self._forces, **held)], 1).run()
        keys, forces = self._patches.remember(self._q)  # all of their keys are below those of walls
        self._held = np.append(keys, self._keys[:count]), np.concatenate([forces, self._forces[:count]])

    def keep_out(self) -> list[Phase]:
        """After the last sweep: nothing ends behind a wall, however few there were [fratarcangeli2018, section 2.3].

        Walls that the first guess stayed before are no exception: neighbours may have pulled a vertex into them.
        """
        return self._push(self._near)

    def take_along(self, ended: np.ndarray, inertia: np.ndarray, held: np.ndarray) -> None:
        """After that: what has been pushed takes its neighbours along, from where the solver left them (n, 4).

        `inertia`, `held`: as below. Not where rigid bodies ask for forces: they are told of pushes alone. Nor for
        solvers that sweep, which leave more than that by themselves.
        """
        if self.tells or not self.remembers or not self._near:
            return
        near = self._near["vertices"], self._near["planes"]
        inverse = np.where(held, 0.0, 1.0 / inertia)
        take_along(self._q, ended, self.rank, self.order, *self._edges, inverse, *near, PRESSED, PASSES)

    def keep_patches_out(self, inertia: np.ndarray, held: np.ndarray) -> None:
        """After that: the same for triangles between their vertices, but for vertices that are `held` (n,).

        `inertia`: m/h² of each vertex of the mesh.
        """
        if self._ended is not None:
            forces, (ids, near, x, _) = self._ended
            self._ended = forces, (ids, near, x, self._q[near, :3].astype(np.float64))
        self._patches.keep_out(self._q, inertia[self.order], held[self.order])

    def set_out(self) -> list[Phase]:
        """Before the first sweep: what touches with all its neighbours begins before its walls, and not behind them."""
        return self._push(self._resting)

    def _push(self, listed: dict[str, np.ndarray]) -> list[Phase]:
        count = len(listed["vertices"]) if listed else 0
        if not count:
            return []
        return [keep_out.over(0, count, q=self._q, used=np.array([count], np.int64), serial=True, **listed)]

    def _rest(self, count: int, added: np.ndarray) -> dict[str, np.ndarray]:
        """The contacts of vertices whose neighbours all touch too; none where forces are remembered."""
        if self.remembers or not count:
            return {}
        walls = self._walls
        some = surrounded(walls["vertices"][:count], self.order, *self._graph, added)
        vertices, planes, before = (walls[name][:count][some] for name in ("vertices", "planes", "before"))
        return self._listed(vertices, planes, before, walls["friction"][: 2 * count].reshape(-1, 2)[some])

    def _listed(
        self, vertices: np.ndarray, planes: np.ndarray, before: np.ndarray, friction: np.ndarray
    ) -> dict[str, np.ndarray]:
        """As `keep_out` takes them. Where forces are remembered friction is among these, and none comes on top."""
        rough = np.zeros(friction.size, np.float32) if self.remembers else friction.ravel()
        return {"vertices": vertices, "planes": planes, "before": before, "friction": rough}

    @staticmethod
    def _active(listed: ContactList, start: np.ndarray) -> tuple[np.ndarray, ...]:
        """Contacts that `start` violates: vertices (c, 4), coefficients (c, 4), planes, friction."""
        if not len(listed):
            return listed.vertices, listed.coefficients, listed.planes, listed.friction
        z = np.einsum("ck,ckx->cx", listed.coefficients, start[listed.vertices, :3])
        some = np.einsum("cx,cx->c", z, listed.planes[:, :3]) < listed.planes[:, 3]
        return listed.vertices[some], listed.coefficients[some], listed.planes[some], listed.friction[some]
