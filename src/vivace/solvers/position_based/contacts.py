"""The contacts of a step as phases of position based solvers."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...collisions.contacts import ContactList, Contacts
from ..kernels.contact import begin_contacts, begin_walls
from .kernels.contact import push_contacts, push_walls


class ContactPasses:
    """Arrays of a step's contacts, and the phases that work on them.

    Args:
        pairs: the pairs of `contacts` in the order of visit.
        previous: positions when the step began (n, 4).
        q: where the solver has its positions.
        corners: an impulse for each corner of a contact, for solvers that visit vertices.
    """

    def __init__(
        self,
        contacts: Contacts,
        pairs: ContactList,
        previous: np.ndarray,
        q: np.ndarray,
        threads: int,
        *,
        corners: bool = False,
    ):
        walls = contacts.colliders
        self.touched = len(walls.starts) - 1

        def arrays(listed: ContactList, impulses: int) -> dict[str, np.ndarray]:
            planes = listed.planes.copy()  # gaps that are violated already are lowered
            before, made = np.zeros((len(listed), 4), np.float32), np.zeros((impulses, 4), np.float32)
            own = {"vertices": listed.vertices, "planes": planes, "before": before, "impulses": made}
            return {**own, "friction": listed.friction, "q": q}

        self.pairs = {**arrays(pairs, (4 if corners else 1) * len(pairs)), "a": pairs.coefficients}
        self.walls = {**arrays(walls, len(walls)), "starts": walls.starts}
        begin = []
        kinds = (begin_contacts, self.pairs, pairs), (begin_walls, self.walls, walls)
        for kernel, table, listed in kinds:
            if len(listed):
                motion = np.zeros((len(listed), 4), np.float32)
                motion[:, :3] = listed.motions
                began = {"q": previous, "recovery": contacts.recoveries(listed.vertices).astype(np.float32)}
                begin.append(kernel.over(0, len(listed), **{**kernel.select({**table, "motion": motion}), **began}))
        if begin:
            Plan(begin, threads).run()

    def in_place(self, pointers: np.ndarray, *, serial: bool = False) -> list[Phase]:
        """A pass over the pairs for each colour."""
        colours = zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True)
        return [Phase(push_contacts, self.pairs, begin, end, serial=serial) for begin, end in colours]

    def against_walls(self) -> list[Phase]:
        """The phase that pushes vertices out of colliders; none where nothing touches them."""
        return [Phase(push_walls, self.walls, 0, self.touched)] if self.touched else []
