"""Clients that misbehave, beside one that does not: the benchmark's siege, a short one."""

import importlib.util
from pathlib import Path

import pytest

from vivace.viewer.server import Server

SIEGE = Path(__file__).parents[2] / "benchmarks" / "viewer.py"


@pytest.mark.slow
def test_the_server_stands_a_siege(monkeypatch):
    """200 bad messages, clients that die in a frame, one that never reads and claims to have drawn everything."""
    monkeypatch.setattr(Server, "has_page", True)
    spec = importlib.util.spec_from_file_location("viewer_benchmark", SIEGE)
    siege = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(siege)
    result = siege.hostile(15.0)
    assert result["alive"]
    assert result["good_fps_beside_deaf"]["median"] > 0.5 * result["good_fps_before"]
    assert result["memory_mb_growth"] < 10  # 300 frames of 61 KB, kept for it, would be 18 MB
