"""The collide stage: from where everything is and where it is about to go, to the contacts of a step."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from ..mesh import Mesh
from .collider_contacts import ColliderSearch
from .contacts import NONE, ContactList, Contacts
from .driven import Driven, Sides
from .impact_zones import Guard
from .kernels.sleep import fall_asleep
from .moving import MovingSearch, Poses, Pushes
from .pairing import Pairing
from .settings import Collisions
from .surfaces import Surfaces
from .thickness import thickness_at

HEAVY = 1.0  # kg: of vertices of animated meshes, which are held
MARGIN = 0.5, 4.0  # times the thickness: how much farther off contacts with animated meshes are, at least and at most
TRIES = 4  # of the guard with vertices that stay where they were; then all do
RECOVERY = 0.25  # share of the thickness by which a gap that is violated already recovers in a step


class Detector:
    """Finds the contacts of a mesh that may touch what `settings` says, but for those whose ids are in `apart`.

    `welds`: (w, 2) pairs of vertices that are sewn together, and are one as far as touching goes.
    """

    def __init__(
        self,
        mesh: Mesh,
        settings: Collisions,
        masses: np.ndarray,
        apart: np.ndarray | None = None,
        welds: np.ndarray | None = None,
    ):
        self.settings, each = settings, settings.per_vertex
        self._recovery = RECOVERY * thickness_at(each)
        self._colliders = ColliderSearch(settings.colliders, each, settings.friction) if settings.colliders else None
        self._pairing = Pairing(mesh.n_vertices, settings.between)
        self._leading: ColliderSearch | None = None  # the same for a few vertices, whose arrays are other ones
        self.moving = self._moving_search(mesh, settings, masses, apart) if settings.bodies else None
        self.pushes: Pushes | None = None  # what the last guard had to get out of rigid bodies
        self._still = self._met = NONE.colliders  # what the last search found, of colliders and of rigid bodies
        self._led = [NONE.colliders, NONE.patches]  # and of animated meshes
        self._driven: Driven | None = None
        self._surfaces: Surfaces | None = None
        self._guard: Guard | None = None
        if settings.animated:
            self._driven = Driven(mesh, settings, len(settings.colliders) + len(settings.bodies))
            masses = np.append(masses, np.full(self._driven.count, HEAVY))
            each = each if len(each) == 1 else np.append(each, np.full(self._driven.count, each.max()))
        if self._driven is None and not (settings.itself and len(mesh.triangles)):
            return
        shown = mesh if self._driven is None else self._driven
        self._sides = Sides.of(mesh.n_vertices, len(masses) - mesh.n_vertices, settings.itself, welds)
        bodies = self._sides.bodies(mesh.edges, welds)
        self._surfaces = Surfaces(
            *(shown.vertices, shown.triangles, each, bodies),
            passive=~self._sides.own,
            alike=self._sides.alike,
        )
        if settings.guard:
            self._guard = Guard(shown, each, masses, self._sides, bodies)

    @staticmethod
    def _moving_search(mesh: Mesh, settings: Collisions, masses: np.ndarray, apart: np.ndarray | None) -> MovingSearch:
        shapes = [body.shape for body in settings.bodies]
        friction = [settings.friction if b.soft_friction is None else b.soft_friction for b in settings.bodies]
        own = np.array([body.weight for body in settings.bodies])
        return MovingSearch(
            *(shapes, np.array(friction), settings.per_vertex, len(settings.colliders), own, masses, apart),
            mesh.triangles,
        )

    def place(self, before: Poses, after: Poses) -> None:
        """Where rigid bodies are when the step begins, and where they will probably be when it ends."""
        if self.moving is not None:
            self.moving.place(before, after)

    def drive(self, begin: float, end: float) -> None:
        """Animated meshes go from where they are at one simulated time (s) to where they are at another."""
        if self._driven is not None:
            self._driven.drive(begin, end)

    def find(self, q: np.ndarray, s: np.ndarray, threads: int) -> Contacts:
        """Contacts of vertices that go from q to s (n, 4)."""
        colliders, surfaces, patches = NONE.colliders, NONE.surfaces, NONE.patches
        if not (np.isfinite(q).all() and np.isfinite(s).all()):  # lost already; the report says so
            return Contacts()
        if self._colliders is not None:
            colliders = self._colliders.find(q, s, threads)
            self._pairing.of_things(colliders)
        self._still, self._met = colliders, NONE.colliders
        if self.moving is not None:
            self._met = self.moving.find(q, s, threads)
            self._pairing.of_things(self._met)
            self._pairing.of_things(self.moving.patches)
            colliders, patches = colliders.joined(self._met), self.moving.patches
        if self._surfaces is not None:
            walls, driven, surfaces = self._touching(q, s, threads)
            colliders, patches = colliders.joined(walls), patches.followed_by(driven)
            surfaces.friction = np.tile(np.array(self.settings.friction, np.float32), (len(surfaces), 1))
            self._pairing.of_surfaces(surfaces)
        return Contacts(colliders, surfaces, self._recovery, patches)

    def _touching(self, q: np.ndarray, s: np.ndarray, threads: int) -> tuple[ContactList, ContactList, ContactList]:
        """What surfaces touch: animated meshes, over one vertex and over three, and each other."""
        assert self._surfaces is not None
        only = None
        if self._driven is not None:
            (q, s), only = self._driven.joined(q, s), self._sides.own
            # Solvers lead cloth elsewhere than to s: as with rigid bodies, what is half the way off is a contact.
            least, most = (k * self.settings.thickness for k in MARGIN)
            self._surfaces.widen(min(max(0.5 * self._driven.fastest, least), most))
        found = self._surfaces.find(q, s, threads, only=only)
        counts = self._sides.counting(found.vertices)
        if self._driven is None:
            return NONE.colliders, NONE.patches, found if counts is None else found.ordered(np.flatnonzero(counts))
        *self._led, surfaces = self._driven.parted(found, self._surfaces, counts)
        return self._led[0], self._led[1], surfaces

    def follow(self, contacts: Contacts, after: Poses) -> Contacts:
        """The contacts of the last search, with rigid bodies that end the step elsewhere than was thought."""
        assert self.moving is not None
        self._met = self.moving.follow(self._met, after)
        self._pairing.of_things(self.moving.patches)
        walls, patches = self._led
        colliders = self._still.joined(self._met).joined(walls)
        return replace(contacts, colliders=colliders, patches=self.moving.patches.followed_by(patches))

    def keep_apart(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray, threads: int) -> int:
        """See to it that nothing passes through a surface on the way from q to x, which is changed where it would."""
        if self.settings.sleep and len(contacts):
            self._sleep(q, x, contacts, held)
        stopped = 0
        if self._colliders is not None and self.settings.guard:
            stopped = self._colliders.keep_out(q, x, held, contacts.recovery)
        if self.moving is not None and self.settings.guard:
            self.pushes = self.moving.keep_out(q, x, held, contacts.recovery, threads)
            stopped += len(self.pushes.vertices)
        return stopped if self._guard is None else stopped + self._guarded(q, x, contacts, held, threads)

    def keep_targets_out(self, vertices: np.ndarray, q: np.ndarray, x: np.ndarray) -> None:
        """Where some vertices, at q, are pulled to: x (k, 4), which is changed where a collider is in the way."""
        if self._colliders is not None and np.isfinite(q).all():
            self._leading = copy(self._colliders) if self._leading is None else self._leading
            recovery = RECOVERY * thickness_at(self.settings.per_vertex, vertices)
            self._leading.keep_out(q, x, np.zeros(len(x), bool), recovery, vertices)

    def _guarded(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray, threads: int) -> int:
        """The guard of surfaces; what it would move into a collider stays where the step began, and it looks again."""
        assert self._guard is not None
        still, stopped = held.copy(), 0
        for _ in range(TRIES):
            stopped += self._kept_apart(q, x, contacts, still, threads)
            if not stopped or self._colliders is None:
                return stopped
            inside = self._colliders.entered(q, x) & ~still
            if not inside.any():
                return stopped
            x[inside] = q[inside]
            still |= inside
        x[~held] = q[~held]
        return len(x)

    def _kept_apart(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray, threads: int) -> int:
        assert self._guard is not None
        if self._driven is None:
            return self._guard.keep_apart(q, x, contacts, held, threads)
        begun, ended = self._driven.joined(q, x)
        fixed = np.append(held, np.ones(self._driven.count, bool))
        stopped = self._guard.keep_apart(begun, ended, contacts, fixed, threads)
        x[:] = ended[: len(x)]
        return stopped

    def _sleep(self, q: np.ndarray, x: np.ndarray, contacts: Contacts, held: np.ndarray) -> None:
        """What few iterations leave of the constraints would keep a heap creeping for ever [macklin2014]."""
        limit = np.ascontiguousarray(
            np.broadcast_to(self.settings.sleep * thickness_at(self.settings.per_vertex), len(x))
        )
        fall_asleep(q, x, self._still.corners, contacts.surfaces.vertices, held, limit)
