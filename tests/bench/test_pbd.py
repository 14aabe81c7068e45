"""`vivace.bench.pbd`, its plots and benchmarks/position_based.py: what is counted, at scales where it takes no time."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vivace import Budget, Cloth, InputError, Model, Simulation, mesh
from vivace.backends.cpu.arguments import GRAIN
from vivace.backends.cpu.executor import Plan
from vivace.bench import pbd
from vivace.bench.run import WARM_UP
from vivace.colouring import is_valid_constraint_colouring, smallest_last_bound
from vivace.pictures import Panel
from vivace.pictures.palette import OKABE_ITO
from vivace.pictures.stages import STACK, stacked_stages, timelines
from vivace.scenes import Scene, make_scene

SMALL = 0.01
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def small():
    return {measured.scene.name: measured for measured in pbd.table_1(scale=SMALL, frames=2, threads=(1, 2))}


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_scene_has_its_types_and_the_papers_row(small):
    assert list(small) == ["s0", "s1", "s2"]
    assert list(small["s0"].groups) == ["stretch", "bend"]
    assert list(small["s1"].groups) == ["stretch", "bend", "volume"]
    assert list(small["s2"].groups) == ["stretch", "volume"]
    for name, measured in small.items():
        row = measured.row()
        paper = row["paper"]
        assert row["iterations"] == paper["iterations"]
        assert set(row["constraints"]) == set(paper["constraints"])
        assert paper["fps"]["gpu"] == pbd.PRINTED[name].fps[2]
    assert small["s1"].row()["paper"]["constraints"]["volume"] == {"constraints": 50_000, "colours": 124}


@pytest.mark.slow
def test_colours_are_valid_and_within_the_bound(small):
    for measured in small.values():
        n = measured.scene.model.n
        for kind, group in measured.groups.items():
            colouring = measured.colourings[kind]
            assert is_valid_constraint_colouring(group.vertices, n, colouring.colours)
            assert colouring.count <= measured.bounds[kind] == smallest_last_bound(group.vertices, n)
            assert measured.balance[kind].sizes.sum() == len(group)


@pytest.mark.slow
def test_runs_are_serial_then_coloured(small):
    for measured in small.values():
        runs = measured.row()["runs"]
        assert [(run["solver"], run["threads"]) for run in runs] == [
            *(("pbd", 1), ("pbd-coloured", 1), ("pbd-coloured", 2))
        ]
        assert runs[0]["times_serial_median"] == 1.0
        for run in runs:
            assert 0 < run["ms_p10"] <= run["ms_median"] <= run["ms_p90"]
            assert run["fps_median"] == pytest.approx(1e3 / run["ms_median"])
            assert run["fps_p10"] == pytest.approx(1e3 / run["ms_p90"])
            assert run["ms_with_collisions_median"] > 0
            assert run["finite"] is True
        assert len(measured.runs[0].ms) == measured.frames == 2
        json.dumps(measured.row())


@pytest.mark.slow
def test_collision_handling_is_left_out(monkeypatch):
    """What is told is predict + solve + update of a model that touches nothing, and the whole step of one that does."""
    seen, plain = [], Simulation.step

    def step(sim):
        report = plain(sim)
        seen.append((sim, report))
        return report

    monkeypatch.setattr(Simulation, "step", step)
    measured = pbd.measure(make_scene("s0", scale=SMALL), 2, [1])
    assert len(seen) == (WARM_UP + 2) * 2 * 2
    apart, together = seen[-2:]
    assert apart[0].model.collisions is None
    assert together[0].model.collisions is not None
    last = measured.runs[-1]
    assert last.ms[-1] == pytest.approx(sum(apart[1].stages[s] for s in ("predict", "solve", "update")))
    assert last.ms_with_collisions[-1] == pytest.approx(together[1].ms)
    assert last.contacts[-1] == together[1].contacts


@pytest.mark.slow
def test_all_solvers_start_from_the_same_states(monkeypatch):
    states, plain = [], Simulation.step
    monkeypatch.setattr(Simulation, "step", lambda sim: states.append(sim.positions) or plain(sim))
    pbd.measure(make_scene("s1", scale=SMALL), 2, [1, 2])
    for k in range(0, len(states), 6):
        for other in states[k + 1 : k + 6]:
            np.testing.assert_array_equal(other, states[k])
    assert not np.array_equal(states[0], states[-1])


def test_a_scene_without_a_number_of_iterations_or_a_row_in_the_paper():
    measured = pbd.table_1(["falling-cube"], scale=SMALL, frames=1, threads=[1])[0]
    assert measured.iterations == pbd.ITERATIONS
    assert measured.row()["paper"] is None


@pytest.mark.slow
def test_cold_start_is_that_of_the_scaled_scene(monkeypatch):
    def first_frame_s(target, threads, *, solver):
        text = Path(target).read_text(encoding="utf-8")
        assert 'scene = "s0"' in text
        assert "scale = 0.01" in text
        assert (threads, solver) == (1, "pbd-coloured")
        return 0.25

    monkeypatch.setattr("vivace.bench.sweep.first_frame_s", first_frame_s)
    measured = pbd.table_1(["s0"], scale=SMALL, frames=1, threads=[1], cold=True)[0]
    assert measured.row()["cold_start_s"] == 0.25
    assert measured.setup_s > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scenes": ["s9"]}, ["unknown scene 's9'", "'s0'"]),
        ({"scenes": ["fallingcube"]}, ["did you mean 'falling-cube'"]),
        ({"scenes": []}, ["at least one scene"]),
        ({"scenes": ["s0", "s0"]}, ["'s0' is there twice"]),
        ({"scenes": ["tablecloth"]}, ["no parameter 'scale'", "s0, s1, s2"]),
        ({"scale": 0.0}, ["scale", "0.0"]),
        ({"scale": -1}, ["scale", "-1"]),
        ({"scale": float("nan")}, ["scale", "nan"]),
        ({"frames": 0}, ["at least one frame", "0"]),
        ({"frames": 1.5}, ["1.5"]),
        ({"threads": [0]}, ["threads", "0"]),
        ({"threads": []}, ["one number of threads"]),
        ({"threads": [2, 2]}, ["2 is there twice"]),
    ],
)
def test_bad_input(options, words, monkeypatch):
    monkeypatch.setattr(pbd, "make_scene", lambda *_, **__: pytest.fail("made a scene before the options were checked"))
    with pytest.raises(InputError) as error:
        pbd.table_1(**options)
    for word in words:
        assert word in str(error.value)


def test_groups_of_one_type_keep_different_names():
    scene = make_scene("s0", scale=SMALL)
    group = scene.model.groups[0]
    assert list(pbd.types_of([group, group, scene.model.groups[1]])) == ["stretch", "stretch'", "bend"]


# --- passes and copies ------------------------------------------------------------------------------------------------


def prepared(model):
    sim = Scene("sheet", model, 1 / 60).simulate(solver="pbd-coloured", budget=Budget(iterations=1))
    sim.step()
    return sim.solver


def test_bytes_of_a_pass():
    """Of m constraints over k vertices with p parameters: 4 m (k + p + 2) + 16 m k are read, and r k floats more where
    an operator is; 16 m k + 4 m are written."""
    sheet = mesh.cloth(5, 5)
    spring, hinge = prepared(Model.of(sheet, Cloth(bend=1e-3))).listed
    m = len(sheet.edges)
    assert pbd.bytes_of(spring) == (4 * m * (2 + 1 + 2) + 16 * m * 2, 16 * m * 2 + 4 * m)
    m, k = hinge.group.vertices.shape
    p, r = hinge.group.parameters.shape[1], hinge.group.kind.rows
    assert pbd.bytes_of(hinge) == (4 * m * (k + p + 2 + r * k) + 16 * m * k, 16 * m * k + 4 * m)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("source", "target"), [(1, 1), (7, 3), (5000, 1234), (4096, 4096), (9001, 8)])
def test_copy_equals_slices(source, target, threads):
    """The target is the first rows of the source, and the sums add up to all others."""
    rows = np.arange(4 * source, dtype=np.float32).reshape(-1, 4) % 17
    out, sums = np.zeros((target, 4), np.float32), np.zeros((target // GRAIN + 1, 4), np.float32)
    Plan([pbd.copy_rows.over(0, target, source=rows, target=out, sums=sums)], threads).run()
    np.testing.assert_array_equal(out, rows[:target])
    np.testing.assert_array_equal(sums.sum(axis=0), rows[target:].sum(axis=0))  # small whole numbers: exact


@pytest.mark.slow
def test_passes(small):
    found = pbd.time_passes(small["s1"].scene, (1, 2), repeats=2)
    assert [(one.kind, one.threads) for one in found] == [
        (kind, threads) for threads in (1, 2) for kind in ("stretch", "bend", "volume")
    ]
    for one in found:
        row = one.row()
        assert row["constraints"] == len(small["s1"].groups[one.kind])
        assert row["colours"] == small["s1"].colourings[one.kind].count
        assert row["bytes_read"] > row["bytes_written"] > 0
        assert 0 < row["pass_over_copy_p10"] <= row["pass_over_copy_median"] <= row["pass_over_copy_p90"]
        assert row["pass_over_copy_once_median"] > 0


# --- plots ------------------------------------------------------------------------------------------------------------


def colours_in(path):
    with Image.open(path) as image:
        image.load()
        found = image.convert("RGB").getcolors(maxcolors=1 << 24)
        return {f"#{r:02X}{g:02X}{b:02X}": count for count, (r, g, b) in found}, json.loads(image.text["vivace"])


@pytest.mark.slow
def test_stacked_stages_are_as_high_as_their_share(tmp_path):
    """Equal heights are equal areas, in the palette's colours; the settings are inside, and nothing else is left."""
    path = tmp_path / "new" / "stages.png"
    stages = {"predict": np.full(10, 1.0), "collide": np.full(10, 2.0), "solve": np.full(10, 4.0)}
    stacked_stages(path, {"a": stages, "b": stages}, budget_ms=5.0, settings={"frames": 10})
    colours, settings = colours_in(path)
    areas = np.array([colours[colour] for colour in STACK[:3]], float)
    np.testing.assert_allclose(areas[1:] / areas[0], [2, 4], rtol=0.2)  # the legend and the budget's line take some
    assert settings["frames"] == 10
    assert list(path.parent.iterdir()) == [path]


def test_the_stack_has_the_colours_of_the_palette():
    assert sorted(STACK) == sorted(OKABE_ITO)


@pytest.mark.parametrize(
    ("panels", "options", "words"),
    [
        ({}, {}, "no stages"),
        ({"a": {}}, {}, "'a' needs a stage"),
        ({"a": {"solve": []}}, {}, "'a' needs a stage"),
        ({"a": {"solve": [1.0], "update": [1.0, 2.0]}}, {}, "solve 1, update 2"),
        ({"a": {"solve": [1.0, np.nan]}}, {}, "finite"),
        ({"a": {"solve": [-1.0]}}, {}, "not negative"),
        ({"a": {"solve": [1.0]}}, {"budget_ms": 0.0}, "budget"),
    ],
)
def test_stages_that_cannot_be_drawn(tmp_path, panels, options, words):
    with pytest.raises(InputError, match=words):
        stacked_stages(tmp_path / "stages.png", panels, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_timelines(tmp_path):
    path = tmp_path / "lines.svg"
    timelines(
        path, [[Panel({"one": [1.0, 2.0], "two": ([0.0, 3.0], [0.0, 1.0])}, "title", "x", "y"), Panel({"two": [1.0]})]]
    )
    assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")
    with pytest.raises(InputError, match="no curves"):
        timelines(tmp_path / "none.svg", [[Panel({})]])
    assert list(tmp_path.iterdir()) == [path]


# --- the benchmark's command ------------------------------------------------------------------------------------------


@pytest.fixture
def position_based(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr("vivace.bench.sweep.first_frame_s", lambda *_, **__: 0.5)
    return importlib.import_module("position_based")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "figure"),
    [
        ("table", None),
        ("passes", None),
        ("falling-cube", "falling-cube.png"),
        ("recolouring", "recolouring.png"),
        ("stages", "stages.png"),
        ("chebyshev", "chebyshev-pbd.png"),
    ],
)
def test_parts(position_based, part, figure, tmp_path, capsys):
    """Every part prints strict JSON, and leaves its figure where it was told to."""
    common = ["--only", part, "--scale", str(SMALL), "--frames", "3", "--out", str(tmp_path)]
    position_based.main([*common, "--json"])
    found = json.loads(capsys.readouterr().out, parse_constant=lambda text: pytest.fail(f"not JSON: {text}"))
    assert list(found) == ["settings", part]
    assert [path.name for path in tmp_path.iterdir()] == ([figure] if figure else [])
    if figure:
        assert len(colours_in(tmp_path / figure)[0]) > 2
    if part == "recolouring":
        kinds = [f"{name}, {what}" for name in ("s0", "s1") for what in ("exchanged", "contacts", "vertices")]
        assert all(found[part][kind]["valid"] is True for kind in kinds)
    if part == "stages":
        for scene in found[part]["scenes"].values():
            assert {"predict", "collide", "colour", "solve", "update"} <= set(scene["ms"])
            assert len(scene["contacts"]) == len(scene["colours"]) == 3


@pytest.mark.slow
def test_parts_as_a_table(position_based, capsys):
    position_based.main(["--only", "falling-cube", "--scale", str(SMALL), "--frames", "2"])
    text = capsys.readouterr().out
    assert "Gauss-Seidel" in text
    assert "averaged Jacobi" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "falling-cub"], "there is no part 'falling-cub'"),
        (["--scale", "0"], "scale"),
        (["--frames", "0"], "frames=0"),
        (["--threads", "0"], "threads"),
    ],
)
def test_bad_options(position_based, arguments, words, capsys):
    with pytest.raises(SystemExit):
        position_based.main(arguments)
    assert words in capsys.readouterr().err


def test_deformation_of_rigid_motions_and_of_others(position_based):
    """Nothing for a rotation and a shift; for a stretch by s along an axis, s x the RMS coordinate ÷ size."""
    body = mesh.cube(4, 1.0).vertices
    turned = mesh.cube(4, 1.0).transformed(rotate=(0.3, 2.0, -1.0), translate=(1, 2, 3)).vertices
    assert position_based.deformation(body, turned) == pytest.approx(0, abs=1e-12)
    away = body[:, 0] - body[:, 0].mean()
    found = position_based.deformation(body, body * [1.1, 1, 1])
    assert found == pytest.approx(0.1 * np.sqrt(np.mean(away**2)) / np.ptp(body, axis=0).max())


def test_strain_of_a_scaled_body(position_based):
    scene = make_scene("falling-cube", scale=SMALL)
    rest = scene.model.mesh.vertices
    assert position_based.drawn(scene, rest).rms == pytest.approx(0, abs=1e-12)
    assert position_based.drawn(scene, 1.2 * rest).rms == pytest.approx(0.2)
    assert position_based.drawn(scene, 0.9 * rest).mean == pytest.approx(0.1)


def test_random_contacts_name_no_vertex_twice(position_based):
    recolouring = importlib.import_module("position_based_recolouring")
    scene = make_scene("falling-cube", scale=SMALL)
    contacts = recolouring.random_contacts(scene, 500, np.random.default_rng(0))
    assert all(len(set(contact)) == 4 for contact in contacts.tolist())
