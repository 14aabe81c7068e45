"""How fast the simulation is beside the clock, and why it is slower where it is: in words, for the page."""

from __future__ import annotations

from collections.abc import Sequence

from .snapshot import SimulationView, Snapshot

SLOW = 0.9  # of real time: below it the page says so
SMOOTH = 0.1  # of a new step in the means: one step says little on a machine that does other things as well
DOING = {
    "predict": "predicting",
    "collide": "finding contacts",
    "colour": "colouring",
    "guard": "keeping surfaces apart",
    "update": "moving on",
    "detect": "finding contacts",
}


class Lately:
    """Means of the last steps of a simulation: milliseconds by stage, and sweeps."""

    def __init__(self, view: SimulationView):
        self.stages, self.sweeps = dict(view.report.stages), float(view.report.sweeps)

    def add(self, view: SimulationView) -> None:
        """One step more."""
        for name, ms in view.report.stages.items():
            old = self.stages.get(name, ms)
            self.stages[name] = old + SMOOTH * (ms - old)
        self.sweeps += SMOOTH * (view.report.sweeps - self.sweeps)

    @property
    def ms(self) -> float:
        """Of a whole step."""
        return sum(self.stages.values())


class Pace:
    """Follows the steps of a session and says why it is slow. Not for several threads at once."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._lately: list[Lately] = []

    def why_slow(self, snapshot: Snapshot) -> str:
        """Why there are fewer than `SLOW` simulated seconds a second; "" if there are more."""
        now = snapshot.backdrop.number, *(view.solver for view in snapshot.views)
        if now != self._of:
            self._of, self._lately = now, [Lately(view) for view in snapshot.views]
        else:
            for lately, view in zip(self._lately, snapshot.views, strict=True):
                lately.add(view)
        if snapshot.speed >= SLOW or not snapshot.views:
            return ""
        return reason(self._lately, snapshot.views[0].budget_ms, 1000 * snapshot.settings.time_step)


def reason(lately: Sequence[Lately], budget_ms: float | None, wanted_ms: float) -> str:
    """Why steps of `wanted_ms` take longer than that."""
    first, total = lately[0], sum(one.ms for one in lately)
    if len(lately) > 1 and total > wanted_ms > first.ms:
        return f"the two simulations take {_ms(total)} a step, which simulates {_ms(wanted_ms)}"
    if total < 0.8 * wanted_ms:
        return "something else keeps this machine busy"
    if budget_ms is None or first.ms <= budget_ms:
        return f"a step takes {_ms(total)} and simulates {_ms(wanted_ms)}"
    solve, sweeps = first.stages.get("solve", 0.0), round(first.sweeps)
    left = budget_ms - (first.ms - solve)
    if left <= 0:
        longest = max((name for name in first.stages if name != "solve"), key=lambda name: first.stages[name])
        took = f"{DOING.get(longest, longest)} alone takes {_ms(first.stages[longest])}"
        if first.stages[longest] > budget_ms:
            return f"{took}, and the budget is {_ms(budget_ms)}"
    bought = max(0, int(left * sweeps / solve)) if solve else sweeps
    if bought >= sweeps:
        return f"a step takes {_ms(first.ms)}, and the budget is {_ms(budget_ms)}"
    return f"the budget buys {bought or 'none'} of the {sweeps} iterations this scene needs"


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"
