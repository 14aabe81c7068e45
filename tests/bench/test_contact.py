"""`vivace.bench.contact`: what is counted, found by trial and compared, on problems that take no time."""

import numpy as np
import pytest
from PIL import Image

from vivace import InputError
from vivace.bench import contact, contact_thesis, contact_trials
from vivace.bench.contact import measure, operations
from vivace.bench.contact_cases import CASES, ROWS, Case, in_order, rows_of
from vivace.bench.contact_trials import iterations_to
from vivace.pictures.bars import BarPanel, bar_panels
from vivace.rigid.balls import ball_grid, ball_pile
from vivace.solvers.rigid import CONTACT_SOLVERS, Solution, make_contact_solver, quality


@pytest.fixture(scope="module")
def grid():
    """The smallest of the thesis' grids, on one thread and two."""
    return measure(CASES["small"][0], threads=(1, 2), repeats=2)


@pytest.fixture(scope="module")
def pile():
    return measure(Case("a pile", lambda: ball_pile(12, 0.5)), threads=(1, 2), repeats=1)


# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sizes_are_those_of_the_thesis(grid):
    """Table 3.2."""
    row = grid.size_row()
    assert row["equal"]
    assert {name: row[name] for name in row["thesis"]} == row["thesis"]
    assert row["blocks_that_couple"] == 17_728 - 64 * 63  # all pairs of the 64 contacts with the ground


@pytest.mark.slow
def test_a_pile_of_our_own_is_not_said_to_be_equal(pile):
    assert pile.size_row()["thesis"] is None
    assert pile.size_row()["equal"] is None
    small = contact.Measured("small pile", 64_001, 6_000, 7_000, 7_000, "t")
    assert small.size_row()["equal"] is False


def test_operations_are_the_formulas_of_table_3_1():
    """16 N + 8 K, 16 N and 100 K multiplications; the factorised scheme has fewer from N > 6 K on (3.4.3)."""
    found = operations(contacts=10, blocks=100)
    assert found["naive"]["multiplications"] == 1680
    assert found["t"] == {
        "multiplications": 1600,
        "additions": 1240,
        "setup_multiplications": 11_200,
        "setup_additions": 8_400,
        "rate_multiplications": 1640,
    }
    assert found["factorised"]["multiplications"] == found["factorised"]["additions"] == 1000
    for blocks, cheaper in ((60, "t"), (70, "factorised")):
        counts = operations(10, blocks)
        assert min(("t", "factorised"), key=lambda scheme: counts[scheme]["multiplications"]) == cheaper


def test_scheme_of_auto_is_marked(grid, pile):
    taken = {row["scheme"] for measured in (grid, pile) for row in measured.operation_rows() if row["auto"]}
    assert taken == {"factorised", "t"}


# --- iterations by trial ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guess", [1, 3, 17, 18, 40, 900])
@pytest.mark.parametrize("needed", [1, 2, 17, 64, 1000, None])
def test_trials_find_the_fewest_iterations(monkeypatch, needed, guess):
    """Whatever the guess, and None where even the most are not enough; qualities that tell nothing are the worst."""
    asked = []

    def solve(iterations):
        asked.append(iterations)
        return Solution(np.full((1, 4), iterations), np.zeros(1), iterations, 0, np.zeros(0), False, 0.0, 0.0, "")

    monkeypatch.setattr(contact_trials, "quality", lambda _, impulses: float(needed is None or impulses[0, 0] < needed))
    found, answer = iterations_to(0.5, solve, None, guess)
    assert found == needed
    assert answer.iterations == (needed or 1000)
    assert len(asked) == len(set(asked)) <= 24


@pytest.mark.parametrize(("needed", "trials"), [(50, 2), (65, 7), (129, 7), (700, 8)])
def test_few_trials_where_quality_falls_evenly(monkeypatch, needed, trials):
    asked = []

    def solve(iterations):
        asked.append(iterations)
        return Solution(np.full((1, 4), iterations), np.zeros(1), iterations, 0, np.zeros(0), False, 0.0, 0.0, "")

    monkeypatch.setattr(contact_trials, "quality", lambda _, impulses: 0.97 ** (impulses[0, 0] - needed + 0.3))
    assert iterations_to(1.0, solve, None)[0] == needed
    assert len(asked) <= trials


def test_an_iteration_that_gets_worse_every_other_time_is_not_counted_twice(monkeypatch):
    """As Jacobi does: of 120, 122, 123 and all after them the first is found, whatever the guess."""

    def solve(iterations):
        return Solution(np.full((1, 4), iterations), np.zeros(1), iterations, 0, np.zeros(0), False, 0.0, 0.0, "")

    monkeypatch.setattr(
        contact_trials, "quality", lambda _, impulses: 0.97 ** (impulses[0, 0] - 120 - 3 * (impulses[0, 0] % 2))
    )
    found = {guess: iterations_to(1.0, solve, None, guess)[0] for guess in (30, 50, 70, 119, 124, 130)}
    assert set(found.values()) == {120}


@pytest.mark.slow
def test_goal_is_the_quality_of_fifty_sequential_iterations(grid):
    problem = ball_grid(8)
    fifty = make_contact_solver("gauss-seidel").solve(problem, 50, threads=1)
    assert grid.goal == pytest.approx(quality(problem, fifty.impulses))
    for run in grid.timed:
        assert run.quality <= grid.goal * (1 + contact_trials.SAME)
        fewer = make_contact_solver(run.solver).solve(problem, run.iterations - 1, threads=1)
        assert quality(problem, fewer.impulses) > grid.goal


# --- what the thesis found --------------------------------------------------------------------------------------------


def test_gauss_seidel_needs_fewer_iterations_than_jacobi(grid, pile):
    """Tables 3.3 and 3.5."""
    for measured in (grid, pile):
        needed = {run.name: run.iterations for run in measured.timed}
        assert needed["gauss-seidel"] == needed["gauss-seidel t"] == 50 < needed["jacobi"] == needed["jacobi t"]
        rows = {row["name"]: row for row in measured.sequential_rows()}
        assert set(rows) == {"jacobi", "gauss-seidel"}
    assert rows["jacobi"]["thesis"] is None
    assert grid.sequential_rows()[0]["thesis"]["iterations"] == 63


@pytest.fixture(scope="module")
def orders():
    """Iterations by (order, ω), of the smallest grid."""
    found = measure(CASES["small"][0], ["orders"])
    return {(row["order"], row["omega"]): row for row in found.orders}


@pytest.mark.slow
@pytest.mark.parametrize("omega", [1.0, 0.5])
def test_safe_colours_keep_what_gauss_seidel_needs_and_unsafe_ones_lose_some(orders, omega):
    """Sections 7.2.4 and 7.4: rigid solvers need about as many as one thread, relaxed ones more, Jacobi the most."""
    needed = orders["shuffled", omega]["iterations"]
    assert abs(needed["rigid"] - 50) <= 2
    assert abs(needed["rigid, balanced, fixed"] - 50) <= 2
    assert max(needed["rigid"], needed["rigid, balanced, fixed"]) < needed["relaxed, fixed"] < needed["jacobi"]


def test_from_the_ground_up_gauss_seidel_is_ahead_of_all_colours(orders):
    """An iteration in that order carries the push of the ground through all layers."""
    assert orders["given", 1.0]["quality"] < orders["shuffled", 1.0]["quality"]
    assert min(orders["given", 1.0]["iterations"].values()) > 54


def test_with_r_factors_of_half_the_size_jacobi_falls_behind_as_in_the_thesis(orders):
    """Table 3.3 has 63 iterations for 50; with whole r-factors it is more than twice as many."""
    row = orders["shuffled", 0.5]
    assert abs(row["iterations"]["jacobi"] - row["thesis"]["iterations"]["jacobi"]) <= 3
    assert orders["shuffled", 1.0]["iterations"]["jacobi"] > 100


def test_schemes_need_the_same(grid):
    needed = {run.name: run.iterations for run in grid.timed}
    for name in ("rigid", "relaxed, fixed"):
        family, _, rest = name.partition(",")
        assert needed[name] == needed[f"{family} t{',' if rest else ''}{rest}"]
    assert needed["contact-sets"] == needed["rigid"]  # balls touch in one point
    assert "relaxed" not in needed  # nothing is merged where the ground does not couple


def test_an_order_is_a_permutation():
    problem = ball_grid(4)
    other = in_order(problem, "shuffled")
    assert (other.pairs != problem.pairs).any()
    back = np.lexsort(other.pairs.T[::-1])
    for name in ("pairs", "frames", "arms", "b", "friction", "radii", "kinds"):
        np.testing.assert_array_equal(getattr(other, name)[back], getattr(problem, name))
    assert in_order(problem, "given") is problem
    with pytest.raises(InputError, match="unknown order 'sorted'; there are given, shuffled"):
        in_order(problem, "sorted")


@pytest.mark.parametrize("row", ROWS)
def test_omega_goes_to_every_solver(row):
    found = rows_of(ball_grid(3), [row.name], omega=0.5, alike=True)[row.name]
    assert make_contact_solver(found.solver).omega == 0.5


def test_colours_of_the_ground(grid):
    """Where the ground couples, 64 contacts with it have 64 colours; what is left of 58 of them is an unsafe one."""
    rows = {row.name: row.row() for row in grid.colours}
    assert rows["rigid, balanced, fixed"]["colours"] == 64
    assert rows["relaxed, fixed"]["unsafe"] == 64 - 6
    assert rows["relaxed, fixed"]["colours"] == 7
    assert rows["rigid"]["colours"] == rows["relaxed"]["colours"] <= 7
    assert rows["rigid"]["unsafe"] == rows["relaxed"]["unsafe"] == 0
    for row in rows.values():
        assert sum(row["sizes"]) == grid.contacts
    spread = {name: row["largest"] - row["smallest"] for name, row in rows.items()}
    assert spread["rigid, balanced"] < spread["rigid"]


@pytest.mark.slow
def test_colours_of_the_medium_grid_are_nearly_the_thesis():
    """6 safe ones of 6912 to 5329 contacts and an unsafe one of 570 there (7.3); its order of contacts is not known."""
    found = measure(CASES["medium"][0], ["colours"])
    row = next(row.row() for row in found.colours if row.name == "relaxed, fixed")
    assert (row["colours"], row["largest"], row["unsafe"]) == (7, 6912, 570)
    assert abs(row["smallest"] - row["thesis"]["smallest"]) <= 1
    assert found.timed == []


# --- runs -------------------------------------------------------------------------------------------------------------


def test_runs_are_on_every_number_of_threads_where_that_is_of_use(grid):
    for name, row in rows_of(ball_grid(8)).items():
        assert [run.threads for run in grid.timed if run.name == name] == ([1, 2] if row.parallel else [1])
    for run in grid.timed:
        assert len(run.seconds) == len(run.setup) == 2
        assert min(run.seconds) > 0


@pytest.mark.slow
def test_only_what_is_asked_for_is_measured():
    case = Case("a grid", lambda: ball_grid(4))
    tables, scaling, colours = (measure(case, [part], (1, 2), 1) for part in ("tables", "scaling", "colours"))
    assert [(run.name, run.threads) for run in tables.timed] == [("jacobi", 1), ("gauss-seidel", 1)]
    assert [(run.name, run.threads) for run in scaling.timed] == [
        *(("jacobi", 1), ("jacobi", 2)),
        *(("jacobi t", 1), ("jacobi t", 2)),
    ]
    assert colours.timed == []
    assert len(colours.colours) == 5
    assert list(contact.as_json([tables], ["tables"])) == ["sizes", "operations", "sequential"]
    assert [row["name"] for row in scaling.scaling_rows()] == ["jacobi", "jacobi t"]


def test_speed_ups_are_ratios_of_turns(grid):
    """Tables 6.1 to 6.3: against the same solver on one thread, and against the factorised Jacobi on one thread."""
    row = next(row for row in grid.scaling_rows() if row["name"] == "jacobi t")
    one, own, two = (grid.find(name, n).seconds for name, n in (("jacobi", 1), ("jacobi t", 1), ("jacobi t", 2)))
    assert row["times_own_median"] == pytest.approx(np.median(np.divide(own, two)))
    assert row["times_sequential_median"] == pytest.approx(np.median(np.divide(one, two)))
    assert row["thesis"]["openmp_sequential"] == 4.7


def test_a_ground_that_nothing_touches_makes_no_difference():
    names = rows_of(ball_pile(6, 0.5))
    assert "rigid" in names
    assert not [name for name in names if "fixed" in name]


def test_every_solver_is_there():
    """Whoever adds a solver of contact problems adds a line to ROWS."""
    assert {row.solver.partition(":")[0] for row in ROWS} == set(CONTACT_SOLVERS)


def test_printed_figures_belong_to_problems_and_solvers_that_there_are():
    cases = {case.name for size in CASES.values() for case in size}
    names = {row.name for row in ROWS}
    assert set(contact_thesis.SIZES) == cases
    for table in (
        contact_thesis.SEQUENTIAL,
        contact_thesis.SPEED_UPS,
        contact_thesis.COLOURS,
        contact_thesis.ITERATIONS,
    ):
        assert {name for name, _ in table} <= names
        assert {case for _, case in table} <= cases


@pytest.mark.slow
def test_plot(grid, tmp_path):
    contact.plot(tmp_path / "contact.png", [grid], {"sizes": ["small"]})
    with Image.open(tmp_path / "contact.png") as image:
        assert image.width > 600
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10


def test_nothing_to_draw(tmp_path):
    with pytest.raises(InputError, match="no bars"):
        bar_panels(tmp_path / "no.png", [BarPanel({})])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], ["tables"], [1], 1), "at least one size"),
        ((["tiny"], ["tables"], [1], 1), "unknown size 'tiny'; there are small, medium, large"),
        ((["small", "small"], ["tables"], [1], 1), "the size 'small' is there twice"),
        ((["small"], ["table"], [1], 1), "unknown part 'table'"),
        ((["small"], ["tables"], [1, 1], 1), "the number of threads 1 is there twice"),
        ((["small"], ["tables"], [0], 1), "threads"),
        ((["small"], ["tables"], [1], 0), "repeats must be"),
        ((["small"], ["tables"], [1], 1, 2.0), "omega must lie between 0 and 2, not 2.0"),
    ],
)
def test_bad_benchmarks_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        contact.check_benchmark(*arguments)
