"""The tablecloth of 10,000 vertices by us and by others, in one run on one machine: one table, one plot.

    python benchmarks/peers/run.py --setup DIR                  # a virtual environment for each peer, once
    python benchmarks/peers/run.py --venvs DIR --out out/peers  # [--resolution 100] [--seconds 1] [--only NAME,...]

One process at a time. README.md in this folder says what the rows mean and what they do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
from problem import FRAME_S, Problem
from reference import cached, tablecloth

from vivace.files import replacing, write_text
from vivace.mesh.kernels.strain import edge_strain

HERE = Path(__file__).resolve().parent
OURS = "vivace"
PEERS = {  # name: its file
    OURS: "ours.py",
    "mujoco": "mujoco_flex.py",
    "newton": "newton_solvers.py",
    "pypbd": "pypbd_cloth.py",
    "blender": "blender_cloth.py",
}
TIMES = (0.25, 0.5, 0.75, 1.0, 2.0)  # s: the nearest frames are measured
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}


def set_up(folder: Path) -> None:
    """A virtual environment for each peer: their dependencies clash."""
    for name in PEERS:
        if name == OURS:
            continue
        print(f"{name}: {folder / name}", flush=True)
        venv.create(folder / name, with_pip=True)
        wanted = HERE / f"requirements-{name}.txt"
        if subprocess.run([python_of(name, folder), "-m", "pip", "install", "-q", "-r", wanted]).returncode:
            print(f"{name} could not be installed; its rows will say so", flush=True)


def python_of(name: str, venvs: Path) -> Path:
    return Path(sys.executable) if name == OURS else venvs / name / "bin" / "python"


def settings_of(name: str, venvs: Path) -> tuple[list[str], str]:
    """The names of a peer's settings, or why there are none."""
    command = [python_of(name, venvs), HERE / PEERS[name], "--list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | THREADS)
    except OSError:
        return [], "not installed: see --setup"
    if done.returncode:
        return [], f"not installed: {last_line(done.stderr)}"
    return json.loads(done.stdout.splitlines()[-1]), ""


def simulate(name: str, setting: str, arguments: argparse.Namespace, frames: int) -> str:
    """Run a peer once; what went wrong, if anything."""
    out = result_of(name, setting, arguments)
    command = [python_of(name, arguments.venvs), HERE / PEERS[name], "--problem", arguments.out / "problem.npz"]
    command += ["--setting", setting, "--frames", str(frames), "--limit", str(arguments.limit), "--out", out]
    log = out.with_suffix(".log")
    with open(log, "w") as stream:
        try:
            code = subprocess.run(
                command, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | THREADS, timeout=3 * arguments.limit
            ).returncode
        except subprocess.TimeoutExpired:
            return f"took more than {3 * arguments.limit:.0f} s"
    return f"did not run: {last_line(log.read_text())}" if code else ""


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no word"


def result_of(name: str, setting: str, arguments: argparse.Namespace) -> Path:
    return arguments.out / f"{name}-{setting}-{arguments.resolution}.npz"


def stretch_of(problem: Problem, path: np.ndarray) -> dict:
    """Percent by which edges are longer or shorter than at rest, over all frames."""
    ends = problem.vertices[problem.edges]
    rest, worst = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), np.zeros(len(problem.vertices))
    by_frame = [edge_strain(q.astype(np.float64), problem.edges, rest, worst) for q in path if np.isfinite(q).all()]
    if not by_frame:
        return {"mean": None, "rms": None, "largest": None}
    mean, root, largest = 100 * np.array(by_frame).T
    return {"mean": float(mean.mean()), "rms": float(np.sqrt(np.mean(root**2))), "largest": float(largest.max())}


def distances(path: np.ndarray, reference: np.ndarray) -> dict[str, float | None]:
    """RMS cm from the reference at the frames nearest to TIMES; None where there is no such frame."""
    found = {}
    for seconds in TIMES:
        frame = round(seconds / FRAME_S) - 1
        if frame < len(reference):
            cm = 100 * float(np.sqrt(((path[frame] - reference[frame]) ** 2).sum(1).mean()))
            found[f"{seconds:g}"] = cm if np.isfinite(cm) else None
    return found


def row_of(name: str, setting: str, file: Path, problem: Problem, reference: np.ndarray) -> dict:
    with np.load(file) as stored:
        about, path, ms = json.loads(str(stored["about"])), stored["positions"], stored["ms"]
        start_s = float(stored["start_s"])
    warm = ms[1:][np.isfinite(ms[1:])]
    return {
        "name": name,
        "chosen": setting,
        **about,
        "start_s": start_s,
        "cold_ms": float(ms[0]),
        "ms": float(np.median(warm)) if len(warm) else None,
        "ms_p95": float(np.percentile(warm, 95)) if len(warm) else None,
        "stretch": stretch_of(problem, path),
        "cm": distances(path, reference[: len(path)]),
    }


def table_of(rows: list[dict], resolution: int) -> str:
    """Markdown."""
    times = [key for key in (f"{seconds:g}" for seconds in TIMES) if any(key in row.get("cm", {}) for row in rows)]
    head = f"Tablecloth of {resolution} x {resolution} vertices, frames of 33 ms. cm: RMS distance from the converged "
    head += f"trajectory with steps of 1 ms, after {', '.join(times)} s. Stretch: percent, over all edges and frames."
    lines = [
        head,
        "",
        "| who | setting | threads | ms a frame: median, p95 | first frame, start | stretch: mean, RMS, largest | cm |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        who = f"{row['peer']} {row['version']}".strip()
        if "cm" not in row:
            lines.append(f"| {who} | {row['chosen']} | | | | | {row['note']} |")
            continue
        cm = ", ".join(number(row["cm"][key]) for key in times if key in row["cm"])
        cm += f"; {row['note']}" if row["note"] else ""
        stretch = ", ".join(number(row["stretch"][key]) for key in ("mean", "rms", "largest"))
        ms = f"{number(row['ms'])}, {number(row['ms_p95'])}"
        start = f"{number(row['cold_ms'])} ms, {number(row['start_s'])} s"
        lines.append(f"| {who} | {row['setting']} | {row['threads']} | {ms} | {start} | {stretch} | {cm} |")
    return "\n".join(lines) + "\n"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"


def plot(rows: list[dict], file: Path, resolution: int) -> None:
    """cm after 1 s against milliseconds a frame."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 6), constrained_layout=True)
    shown = [row for row in rows if row.get("ms") and row.get("cm", {}).get("1")]
    peers = list(dict.fromkeys(row["peer"] for row in shown))
    for k, row in enumerate(shown, 1):
        ours, at = row["name"] == OURS, (row["ms"], row["cm"]["1"])
        words = f"{k}  {row['peer']} {row['chosen']}: {number(at[0])} ms, {number(row['stretch']['mean'])} %"
        colour = "black" if ours else f"C{peers.index(row['peer'])}"
        axes.loglog(*at, "*" if ours else "o", color=colour, markersize=10, label=words, linestyle="none")
        axes.annotate(str(k), at, xytext=(7, 4), textcoords="offset points", fontsize=9)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False, title="mean stretch in %")
    axes.axvline(33, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("milliseconds a frame of 33 ms (median)")
    axes.set_ylabel("RMS cm from the converged trajectory after 1 s")
    axes.set_title(f"Tablecloth, {resolution} x {resolution} vertices")
    axes.margins(0.1)
    axes.grid(True, which="both", alpha=0.2)
    with replacing(file) as temporary:
        figure.savefig(temporary, dpi=150)


def main() -> None:
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vivace" / "peers"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", type=Path, metavar="DIR", help="make the peers' environments in DIR, and stop")
    parser.add_argument("--venvs", type=Path, default=caches / "venvs", help="where they are")
    parser.add_argument("--cache", type=Path, default=caches, help="where the reference is kept")
    parser.add_argument("--out", type=Path, default=Path("out/peers"))
    parser.add_argument("--resolution", type=int, default=100, help="vertices along a side")
    parser.add_argument("--seconds", type=float, default=1.0, help="1 or 2")
    parser.add_argument("--only", default="", help="peers, or peer-setting, with commas")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a row is cut short")
    parser.add_argument("--reuse", action="store_true", help="keep the rows that --out already has")
    arguments = parser.parse_args()
    if arguments.setup:
        set_up(arguments.setup.resolve())
        return
    arguments.venvs = arguments.venvs.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    frames = round(arguments.seconds / FRAME_S)
    model, problem = tablecloth(arguments.resolution)
    problem.save(arguments.out / "problem.npz")
    reference = cached(model, problem, frames, arguments.cache)
    only, rows = [word for word in arguments.only.split(",") if word], []
    still = {"name": "reference", "chosen": "", "peer": "reference", "version": "", "setting": "steps of 1 ms"}
    still |= {"threads": "", "note": "", "start_s": None, "cold_ms": None, "ms": None, "ms_p95": None}
    rows.append(still | {"stretch": stretch_of(problem, reference), "cm": distances(reference, reference)})
    for name in PEERS:
        if only and not any(word.split("-")[0] == name for word in only):
            continue
        settings, trouble = settings_of(name, arguments.venvs)
        if trouble:
            rows.append({"name": name, "chosen": "", "peer": name, "version": "", "note": trouble})
        for setting in settings:
            if only and name not in only and f"{name}-{setting}" not in only:
                continue
            file = result_of(name, setting, arguments)
            if not (arguments.reuse and file.exists()):
                file.unlink(missing_ok=True)
                trouble = simulate(name, setting, arguments, frames)
            if file.exists():
                rows.append(row_of(name, setting, file, problem, reference))
            else:
                rows.append({"name": name, "chosen": setting, "peer": name, "version": "", "note": trouble})
            print(table_of(rows[-1:], arguments.resolution).splitlines()[-1], flush=True)
    table = table_of(rows, arguments.resolution)
    print("\n" + table)
    write_text(arguments.out / "peers.md", table)
    facts = {"resolution": arguments.resolution, "frame_s": FRAME_S, "frames": frames, "cores": os.cpu_count()}
    facts |= {"python": platform.python_version(), "machine": platform.machine(), "rows": rows}
    write_text(arguments.out / "peers.json", json.dumps(facts, indent=2))
    plot(rows, arguments.out / "peers.png", arguments.resolution)


if __name__ == "__main__":
    main()
