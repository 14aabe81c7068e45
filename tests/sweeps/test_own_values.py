"""Values that are not numbers or words: materials, arrays, objects of classes in a script or a notebook."""

import threading
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import vivace as vv
from vivace.errors import InputError
from vivace.sweeps import planned
from vivace.sweeps.functions import is_plain, packed, unpacked
from vivace.sweeps.task import portable, run_task

pytest.importorskip("cloudpickle", reason='sweeps need pip install "vivace[sweep]"')


def hung(material=None, load=None):
    """A cloth of some material, with forces on its vertices."""
    model = vv.Model.of(vv.mesh.cloth(4, 4), material or vv.Cloth()).pin("top-corners")
    return vv.Scene("hung", model, 1 / 60, frames=3, budget=vv.Budget(iterations=3))


@dataclass
class Strength:
    """Of a module that no other process can import."""

    stretch: float


def of_strength(strength=Strength(1e3)):  # noqa: B008  never changed
    return hung(vv.Cloth(stretch=strength.stretch))


def test_what_is_data_for_every_process():
    assert is_plain([None, True, 1, 2.5, "a", b"b", (1, [2]), {"a": {"b": 1}}])
    for own in (np.float64(1), np.arange(2), vv.Cloth(), Strength(1.0), {"a": [Strength(1.0)]}, {Strength: 1}, {1, 2}):
        assert not is_plain(own)


def test_a_task_of_plain_data_is_sent_as_it_is_and_others_packed():
    plain, own = (planned(hung, {"material": of}, settings={}).tasks[0] for of in ([None], [vv.Cloth(stretch=1e2)]))
    assert portable(plain) is plain
    sent = portable(own)
    assert (sent.data, sent.settings) == ({}, {})
    assert is_plain([sent.varied, sent.data, sent.settings])
    assert "stretch=100" in sent.varied["material"]
    here, there = run_task(own).row, run_task(sent).row
    assert here["stretch_rms"] == there["stretch_rms"]
    assert there["error"] is None


def test_classes_of_modules_that_others_cannot_import_go_along(monkeypatch):
    """In lists and tables, too; a module that is installed is named instead."""
    module = ModuleType("of_a_notebook")
    exec("class Weight:\n    def __init__(self, value): self.value = value\n", module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "of_a_notebook", module)
    data = packed({"weights": [module.Weight(3)]}, "it")
    monkeypatch.delitem(__import__("sys").modules, "of_a_notebook")
    assert unpacked(data)["weights"][0].value == 3
    assert b"cls_doc" not in packed(vv.Cloth(), "it")
    assert b"vivace.model.materials" in packed(vv.Cloth(), "it")


def test_values_that_cannot_be_sent_are_refused_before_the_first_run():
    for vary, parameters in (({"load": [threading.Lock()]}, {}), ({}, {"load": threading.Lock()})):
        with pytest.raises(InputError, match=r"load=.* cannot be sent to other processes"):
            planned(hung, vary, settings={}, parameters=parameters)


def test_a_function_that_cannot_be_called_without_what_is_varied_is_refused():
    with pytest.raises(InputError, match="give material a default"):
        planned(lambda material: hung(material), {"material": [vv.Cloth()]}, settings={})
    found = planned(lambda material: hung(material), {}, settings={}, parameters={"material": vv.Cloth()})
    assert len(found.tasks) == 1


def test_values_whose_words_are_alike_are_different_runs():
    """Arrays leave out their middle when they are printed."""
    one, other = np.zeros(10_000), np.zeros(10_000)
    other[5_000] = 1.0
    assert str(one) == str(other)
    tasks = planned(hung, {"load": [one, other]}, settings={}).tasks
    assert len({task.key for task in tasks}) == len(tasks) == 2
    with pytest.raises(InputError, match="twice"):
        planned(hung, {"load": [one, other, one.copy()]}, settings={})
    assert tasks[0].key == planned(hung, {"load": [one.copy()]}, settings={}).tasks[0].key
    for number in (3, np.int64(3)):
        assert (
            planned(hung, {"load": [number]}, settings={}).tasks[0].key
            == planned(hung, {"load": [3]}, settings={}).tasks[0].key
        )


@pytest.mark.slow
def test_a_sweep_over_objects_of_ones_own_class():
    pytest.importorskip("pandas")
    table = vv.sweep(of_strength, {"strength": [Strength(1e2), Strength(1e4)]}, workers=2)
    assert table["error"].isna().all()
    alone = vv.bench.run_scene(of_strength(Strength(1e4)), error_samples=0).summary()
    assert table.loc[1, "stretch_rms"] == alone["stretch_rms"]
    assert "10000" in str(table.loc[1, "strength"])
