"""Checkpoints with bytes, arrays and values changed: refused with a FileError, or loaded and stepped."""

import sys
from pathlib import Path
from random import Random

import pytest

import vivace as vv

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from survival import WAYS, act, act_rigid, rigid, soft


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*perhaps not with the same bits")
@pytest.mark.parametrize(("make", "do", "solver"), [(soft, act, "auto"), (rigid, act_rigid, "contact-sets")])
def test_mutated_checkpoints_are_refused_or_go_on(tmp_path, make, do, solver):
    """`benchmarks/survival.py hostile` has 500 of them."""
    sim, random, said = make(solver), Random(11), []
    for _ in range(9):
        do(sim)
        sim.step()
    source, path = sim.save(tmp_path / "whole.vivace"), tmp_path / "mutated.vivace"
    for way in WAYS:
        for _ in range(6):
            WAYS[way](random, source, path)
            try:
                vv.load(path).step()
            except vv.FileError as error:
                said.append(str(error))
    assert len(said) > 12
    assert [text for text in said if "mutated.vivace" not in text] == []
