"""A scene of rigid bodies that runs, and what people hold of it. No threads here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, NoReturn

import numpy as np

from ..checks import LARGEST
from ..collisions.colliders import Box, Plane, Sphere
from ..errors import InputError, VivaceError
from ..rigid import rotation
from ..rigid.bodies import Body
from ..scenes import RigidScene
from ..simulation.rigid_simulation import RigidReport, RigidSimulation
from ..solvers import Budget
from ..solvers.rigid import ContactSolver, make_contact_solver
from .body_mesh import BodyMesh, BodyReport, RigidBackdrop
from .choices import check_solver, contact_solver_choices, name_of
from .messages import BodyKind, ColourBy, Grab, Settings
from .pointers import STRONGEST
from .running import DEFAULT_MS, Lost, Running, shortened, within
from .snapshot import SimulationView

FAR = 1e4  # times the scene's size: where a body is counted as lost, like one that is not finite
Key = tuple[str, int]


class BodyPointers:
    """Who holds which grab; see `pointers`, which is for soft bodies."""

    def __init__(self) -> None:
        self._grabs: dict[Key, int] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._grabs

    def grab(self, sim: RigidSimulation, key: Key, body: int, point: np.ndarray, target: np.ndarray) -> None:
        """A pointer takes the point of a body that is at `point`, and pulls it to `target`."""
        grab = sim.grab(body, point, target)  # refused before anything is let go
        self.release([sim], key)
        self._grabs[key] = grab

    def drag(self, sims: Iterable[RigidSimulation], key: Key, target: np.ndarray) -> None:
        """Move what a pointer holds; nothing if it holds nothing."""
        if key in self._grabs:
            for sim in sims:
                sim.move_grab(self._grabs[key], target)

    def release(self, sims: Iterable[RigidSimulation], key: Key) -> None:
        """A pointer lets go of what it holds, if anything."""
        grab = self._grabs.pop(key, None)
        if grab is not None:
            for sim in sims:
                sim.release(grab)

    def release_client(self, sims: Iterable[RigidSimulation], client: str) -> None:
        """All pointers of a client let go: it has left."""
        for key in [key for key in self._grabs if key[0] == client]:
            self.release(sims, key)

    def release_all(self, sims: Iterable[RigidSimulation]) -> None:
        """All pointers let go."""
        for key in list(self._grabs):
            self.release(sims, key)


class RunningRigidScene(Running[RigidSimulation]):
    """A scene of rigid bodies that runs; the arguments are those of `RunningScene`."""

    bodies: ClassVar[BodyKind] = "rigid"
    fallback: ClassVar[str] = "contact-sets"

    def __init__(
        self,
        scene: RigidScene,
        sim: RigidSimulation,
        number: int = 1,
        *,
        before: Settings | None = None,
        budget_ms: float | None = None,
    ):
        self.scene, self.sims, self.pointers = scene, [sim], BodyPointers()
        self.mesh = BodyMesh(scene)
        self.backdrop = RigidBackdrop(number, scene, self.mesh)
        name = name_of(sim.solver)
        self.choices, self.names = contact_solver_choices(name), [name]
        size = max(float(np.ptp(self.mesh.start, axis=0).max()), 1e-3)
        self._far = min(float(np.abs(self.mesh.start).max()) + FAR * size, 0.9 * LARGEST)
        self.time = 0.0
        if budget_ms is not None:
            sim.budget = Budget(ms=budget_ms)
        self.settings = Settings(
            solver=name,
            compare="",
            relaxation=None,
            budget_ms=within("budget_ms", sim.budget.ms or DEFAULT_MS),
            iterations=sim.budget.iterations if sim.budget.ms is None else None,
            fabric="",
            self_contact=False,
            stiffness=1.0,
            time_step=sim.time_step,
            gravity=float(-sim.gravity[1]),
            wind=0.0,
            wind_heading=0.0,
            grab_radius=0.0,
            hand_force=STRONGEST,
            paused=False,
            colour_by="plain",
        )

    def step(self, spent_ms: float = 0.0) -> tuple[SimulationView, ...]:
        """A step; Lost if it has no result. `spent_ms`: of the budget, on what people asked for before it."""
        (sim,) = self.sims
        whole, sim.budget = sim.budget, shortened(sim.budget, spent_ms)
        try:
            report = sim.step()
        except VivaceError as error:
            raise Lost(0, str(error)) from error
        finally:
            sim.budget = whole
        poses = np.concatenate([sim.bodies.positions, sim.bodies.orientations], axis=1)
        if not np.isfinite(poses).all() or float(np.abs(poses[self.mesh.owner, :3]).max()) > self._far:
            raise Lost(0, f"{self.names[0]} lost the simulation")
        self.time += self.settings.time_step
        held = tuple(map(tuple, sim.grabbed_points.tolist()))
        name, shown = self.names[0], self._shown(report, poses)
        return (SimulationView(shown, name, name, sim.frames, whole.ms, None, (), held),)

    def _shown(self, report: RigidReport, poses: np.ndarray) -> BodyReport:
        residuals = np.column_stack([np.arange(len(report.residuals)), report.residuals])
        colours = len(report.colours) or None
        return BodyReport(
            *(report.iterations, report.residual, residuals, report.stages, colours),
            *(len(report.contacts), report.depth, poses, self.mesh),
        )

    def reset(self) -> None:
        """Everything back to where it started; nothing is held."""
        self.pointers.release_all(self.sims)
        for sim in self.sims:
            frames = sim.frames
            sim.reset()
            sim.frames = frames  # counts on: a session sees by it how soon a simulation is lost again
        self.time = 0.0

    def grab(self, key: Key, message: Grab) -> None:
        """A pointer takes the point that it touched."""
        if message.thing is not None:
            self._refuse("what stands among soft bodies can be moved")
        (sim,) = self.sims
        body, point = touched(self.mesh, message, sim.positions, sim.orientations)
        self.pointers.grab(sim, key, body, point, np.array(message.target))

    def set_budget_ms(self, value: float) -> None:
        """Give every step so many milliseconds, instead of a number of iterations."""
        super().set_budget_ms(value)
        self._set(iterations=None)

    def set_iterations(self, value: int) -> None:
        """Give every substep so many iterations, however long they take."""
        self._set_all("budget", Budget(iterations=value))
        self._set(iterations=value)

    # --- settings that rigid bodies do not have -------------------------------------------------------------------

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"{what}; {self.scene.name} is made of rigid ones")

    def set_hand_force(self, value: float) -> None:
        """Refused: the spring that pulls at a body is as strong as the body is heavy."""
        self._refuse("the force of a hand is for soft bodies")

    def set_wind(self, value: float) -> None:
        """Refused."""
        self._refuse("wind blows on soft bodies")

    def set_wind_heading(self, value: float) -> None:
        """Refused."""
        self._refuse("wind blows on soft bodies")

    @property
    def controls(self) -> list[str]:
        """Of solver, time and gravity; those of soft bodies are not among them."""
        return ["solver", "budget_ms" if self.settings.iterations is None else "iterations", "time_step", "gravity"]

    def set_fabric(self, value: str) -> None:
        """Refused."""
        self._refuse("cloth is made of a fabric")

    def set_self_contact(self, value: bool) -> None:
        """Refused: rigid bodies always touch each other."""
        self._refuse("soft bodies may touch themselves or not")

    def set_stiffness(self, value: float) -> None:
        """Refused."""
        self._refuse("only soft bodies have a stiffness")

    def set_relaxation(self, value: float) -> None:
        """Refused: contact solvers have ω as an option of their names."""
        self._refuse("the relaxation of a contact solver is set with its name (coloured:omega=1.2), not by a slider")

    def set_colour_by(self, value: ColourBy) -> None:
        """Refused, but for the colours that every body has."""
        if value != "plain":
            self._refuse(f"colours by {value} are for soft bodies")

    # --- solvers --------------------------------------------------------------------------------------------------

    def maker(self, name: str) -> Callable[[], ContactSolver]:
        """A function for another thread that makes a contact solver, and has it compiled."""
        check_solver(name, self.choices)

        def make() -> ContactSolver:
            solver = make_contact_solver(name)
            warm_contacts(solver)
            return solver

        return make

    def use_solver(self, k: int, name: str, solver: ContactSolver, omega: float | None) -> None:
        """Go on with another contact solver."""
        self.sims[k].solver = solver
        self.names[k] = name
        self._set(solver=name)

    def use_fallback(self, k: int) -> None:
        """Go on with the contact solver of stacks."""
        self.use_solver(k, self.fallback, make_contact_solver(self.fallback), None)

    def check_comparable(self) -> None:
        """Refused."""
        self._refuse("two solvers side by side are for soft bodies")

    def compare_with(self, name: str, solver: ContactSolver) -> None:
        """Refused."""
        self.check_comparable()

    def compare_no_more(self) -> None:
        """Nothing: there never is a split view."""


def touched(mesh: BodyMesh, message: Grab, positions: np.ndarray, orientations: np.ndarray) -> tuple[int, np.ndarray]:
    """Which body a pointer has touched, and where that point is now (m), of bodies with these poses."""
    exact = message.corners is not None and message.weights is not None
    corners = message.corners if exact and message.corners else [message.vertex] * 3
    body, local = mesh.point(corners, message.weights if exact and message.weights else [1.0, 0.0, 0.0])
    return body, positions[body] + rotation.matrices(orientations[body]) @ local


def warm_contacts(solver: ContactSolver) -> None:
    """Compile all that a step with contacts needs, on a few bodies that touch."""
    half = (0.1, 0.1, 0.1)
    things = [Box((0.0, 0.1, 0.0), half), Box((0.0, 0.3, 0.0), half), Sphere((0.0, 0.5, 0.0), 0.1)]
    bodies = [Body(Plane(), fixed=True), *map(Body, things)]
    RigidSimulation(bodies, solver=solver, budget=Budget(iterations=2), substeps=1).step()
