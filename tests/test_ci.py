"""What a merge must pass is what the README and CONTRIBUTING.md tell people to run."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUN, HOOKS = ROOT / ".ci" / "run", ROOT / ".pre-commit-config.yaml"
CHECKS = ("ruff format --check", "ruff check", "mypy")

pytestmark = pytest.mark.skipif(not RUN.is_file(), reason="not a checkout of the repository")


def commands() -> list[str]:
    return [line for line in RUN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def test_the_last_command_is_the_readmes():
    """In the middle of the script, a failure before the last && would not stop it."""
    last = commands()[-1]
    assert last.endswith("-m pytest")
    assert last in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_checks_come_before_tests():
    lines = commands()
    found = [next(k for k, line in enumerate(lines) if f".venv/bin/{check}" in line) for check in CHECKS]
    assert found == sorted(found)
    assert found[-1] < len(lines) - 1


def test_hooks_make_the_same_checks():
    hooks = HOOKS.read_text(encoding="utf-8").splitlines()
    entries = [line.partition("entry:")[2].strip() for line in hooks if "entry:" in line]
    assert tuple(entries) == CHECKS
