import json
from dataclasses import dataclass

import pytest

from vivace import Simulation
from vivace.cli import main
from vivace.simulation.rigid_simulation import RigidSimulation


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output as strict JSON: NaN and Infinity are refused."""
        return json.loads(self.out, parse_constant=_refuse)

    @property
    def complaint(self):
        """The one line that an error of use prints."""
        assert self.code == 1
        assert self.out == ""
        assert self.err.startswith("vivace: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        return self.err.removeprefix("vivace: ").rstrip("\n")


def _refuse(text):
    raise ValueError(f"not JSON: {text}")


@pytest.fixture
def vivace(capsys):
    """The command in this process: vivace("run", "bar", "--json") gives exit code, standard output and error."""

    def call(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        text = capsys.readouterr()
        return Outcome(code, text.out, text.err)

    return call


@pytest.fixture
def no_steps(monkeypatch):
    """From here on a simulation that steps fails the test."""

    def step(*_):
        raise AssertionError("a step was made before the options were checked")

    monkeypatch.setattr(Simulation, "step", step)
    monkeypatch.setattr(RigidSimulation, "step", step)


@pytest.fixture
def scene_file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('scene = "tablecloth"\n[parameters]\nresolution = 6\n[budget]\niterations = 3\n')
    return path
