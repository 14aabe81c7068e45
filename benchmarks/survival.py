"""Runs that survive: checkpoints resumed to the same bits, processes killed while they write, files tampered with.

    python benchmarks/survival.py resume --frames 50    # every solver, contacts and grabs; at random frames
    python benchmarks/survival.py kill --times 100      # `vivace run` with checkpoints and a film, kill -9, --resume
    python benchmarks/survival.py hostile --files 500   # checkpoints that were mutated or cut off

Each part prints one line a case and, at the end, how many were wrong, which is also its exit code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.collisions import Box, Plane, Sphere
from vivace.solvers.rigid import CONTACT_SOLVERS

LENGTH = 36  # frames of each run
AFTER = 5  # frames that a resumed run is compared for


# --- the same bits ----------------------------------------------------------------------------------------------------


def soft(solver: str) -> vv.Simulation:
    """A cloth over a ball that touches itself, where the solver follows contacts; one that hangs, or a jelly, else."""
    kinds = vv.SOLVERS[solver]
    budget = vv.Budget(iterations=6)
    cloth = vv.mesh.cloth(11, 11, width=0.5, height=0.5)
    touching = vv.Model.of(cloth, vv.Cloth(stretch=1e3)).collide(
        [Sphere((0.02, -0.24, 0.01), 0.2), Plane((0, -0.4, 0))], friction=0.4
    )
    hanging = vv.Model.of(cloth, vv.Cloth(stretch=1e3)).pin("top-corners")
    jelly = vv.Model.of(vv.mesh.bar(4, 2, 2), vv.neo_hookean(young=1e5)).pin("left")
    from vivace.solvers import make_solver

    for model in (touching, hanging, jelly):
        if not make_solver(solver).why_not(model):
            try:
                sim = vv.Simulation(model, solver=solver, budget=budget, time_step=1 / 60)
                sim.step()
            except vv.InputError:
                continue
            return vv.Simulation(model, solver=solver, budget=budget, time_step=1 / 60, seed=3)
    raise SystemExit(f"{kinds}: nothing for it")


def act(sim: vv.Simulation) -> None:
    """What a person does before a step, by its number: holds, drags, blows, lets go."""
    k, n = sim.frames, sim.model.n
    corner = [n - 1, n - 2]
    if 6 <= k < 14:
        sim.grab(corner, np.array([[0.1, 0.1 + 0.01 * k, 0.2], [0.15, 0.1 + 0.01 * k, 0.2]]))
    if k == 14:
        sim.release()
    if 16 <= k < 26:
        sim.grab([n // 2, n // 2 + 1], np.array([[0.0, 0.02 * (k - 10), 0.1]] * 2), force=6.0)
    if k == 26:
        sim.release()
    if k == 28:
        sim.wind = (0.0, 0.0, 2.0)


def rigid(solver: str) -> vv.RigidSimulation:
    """Five boxes and a ball that fall on each other."""
    boxes = [
        vv.Body(Box((0.02 * k, 0.15 + 0.22 * k, 0.01 * k), (0.1, 0.1, 0.1), rotate=(0, 0.2 * k, 0))) for k in range(5)
    ]
    ball = vv.Body(Sphere((0.05, 1.5, 0.0), 0.1), velocity=(0.0, -2.0, 0.0), restitution=0.3)
    return vv.RigidSimulation(
        [vv.Body(Plane(), fixed=True), *boxes, ball], solver=solver, budget=vv.Budget(iterations=12)
    )


def act_rigid(sim: vv.RigidSimulation) -> None:
    k = sim.frames
    if k == 8:
        sim.grab(2, sim.positions[2], (0.4, 0.8, 0.0))
    if k == 9:
        sim.move_grab(sim.grabbed[0], (0.4, 0.9, 0.2))
    if k == 22:
        sim.release()


def bits(sim: vv.Simulation | vv.RigidSimulation) -> str:
    parts = [sim.positions, sim.velocities] + ([sim.orientations] if isinstance(sim, vv.RigidSimulation) else [])
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def resume(arguments: argparse.Namespace) -> int:
    """Each solver: a run, checkpoints at random frames, and whether what goes on from them has its bits."""
    wrong = total = 0
    cases = [(f"{name}", soft, act, name) for name in vv.SOLVERS] + [
        (f"rigid: {n}", rigid, act_rigid, n) for n in CONTACT_SOLVERS
    ]
    if arguments.only:
        cases = [case for case in cases if arguments.only in case[0]]
    with tempfile.TemporaryDirectory() as folder:
        for label, make, do, name in cases:
            rng = random.Random(arguments.seed)
            chosen = sorted({rng.randrange(1, LENGTH) for _ in range(10_000)}, key=lambda _: rng.random())
            frames = [chosen[k % len(chosen)] for k in range(arguments.frames)]
            sim, seen, touched = make(name), [], 0
            files = {}
            for k in range(LENGTH + AFTER):
                do(sim)
                if k in frames:  # what was done before the step is in it
                    files[k] = sim.save(Path(folder) / f"{k}.vivace")
                report = sim.step()
                contacts = report.contacts
                touched += (contacts if isinstance(contacts, int) else len(contacts)) > 0
                seen.append(bits(sim))
            bad = []
            for k in frames:
                again = vv.load(files[k])
                for later in range(k, k + AFTER):
                    if later > k:
                        do(again)
                    again.step()
                    if bits(again) != seen[later]:
                        bad.append((k, later))
                        break
            wrong, total = wrong + len(bad), total + len(frames)
            print(
                f"{label:28s} {len(frames)} resumed, {touched} frames in contact, {len(bad)} differ {bad[:3]}",
                flush=True,
            )
    print(f"{total} resumed runs, {wrong} with other bits")
    return wrong


# --- kill -9 ----------------------------------------------------------------------------------------------------------

KILLED = [
    "run",
    "cloth-heap",
    "--set",
    "scale=0.01",
    "--iterations",
    "4",
    "--frames",
    "40",
    "--error-samples",
    "0",
    "--quiet",
]


def kill(arguments: argparse.Namespace) -> int:
    """A run with checkpoints and a film is killed at random moments until it is done; its files are as of one alone."""
    rng, wrong, kills, runs = random.Random(arguments.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        command = [sys.executable, "-m", "vivace", *KILLED]
        begin = time.perf_counter()
        subprocess.run([*command, *outputs(whole)], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - begin
        expected = digest(whole)
        while kills < arguments.times:
            runs += 1
            own = Path(folder) / f"run{runs}"
            for attempt in range(40):
                patient, begin = attempt > 4, time.perf_counter()
                process = subprocess.Popen(
                    [*command, *outputs(own), "--checkpoint-every", "3", "--resume"], stdout=subprocess.DEVNULL
                )
                try:
                    # mostly after imports and warm-up, where files are written
                    process.wait(None if patient else took * rng.uniform(0.5, 1.05))
                    if attempt == 0:  # the first of all compiled, or the machine was busy then
                        took = min(took, time.perf_counter() - begin)
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
                    wrong += half(own)
            same = process.returncode == 0 and digest(own) == expected
            wrong += not same
            print(
                f"run {runs}: killed {kills} times so far; finished {'with the same positions' if same else 'WRONG'}",
                flush=True,
            )
    print(f"{kills} kills, {runs} runs that finished, {wrong} wrong")
    return wrong


def outputs(folder: Path) -> list[str]:
    return ["--out", str(folder / "run.npz"), "--film", str(folder / "run.gif"), "--trace", str(folder / "run.csv")]


def digest(folder: Path) -> str:
    with np.load(folder / "run.npz") as file:
        return hashlib.sha256(file["positions"].tobytes()).hexdigest()


def half(folder: Path) -> int:
    """How many files with a name of their own are not whole."""
    bad = 0
    for path in folder.glob("[!.]*") if folder.exists() else ():
        try:
            if path.suffix == ".npz":
                np.load(path)["positions"]
            elif path.suffix == ".vivace":
                vv.load(path)
            elif path.suffix == ".gif":
                bad += not path.read_bytes().endswith(b";")
        except Exception as error:
            print(f"not whole: {path.name}: {error}")
            bad += 1
    return bad


# --- hostile files ----------------------------------------------------------------------------------------------------


def hostile(arguments: argparse.Namespace) -> int:
    """Mutated checkpoints: each is refused with a FileError, or loads and steps; in little memory, and nothing runs."""
    rng, wrong, refused, loaded = random.Random(arguments.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        sim = soft("auto")
        for _ in range(30):
            act(sim)
            sim.step()
        boxes = rigid("contact-sets")
        for _ in range(30):
            act_rigid(boxes)
            boxes.step()
        sources = [sim.save(Path(folder) / "soft.vivace"), boxes.save(Path(folder) / "rigid.vivace")]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told: dict[str, int] = {}
        for k in range(arguments.files):
            path = Path(folder) / "mutated.vivace"
            way = rng.choice(list(WAYS))
            WAYS[way](rng, sources[k % 2], path)
            try:
                found = vv.load(path)
                found.step()
                loaded += 1
            except vv.FileError as error:
                refused += 1
                told.setdefault(str(error).replace(str(path), "FILE")[:150], k)
            except Exception as error:
                wrong += 1
                print(f"file {k} ({way}): {type(error).__name__}: {error}", flush=True)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for message in list(told)[:12]:
        print("  ", message)
    print(f"{arguments.files} files: {refused} refused, {loaded} loaded and stepped, {wrong} other errors")
    print(f"{grown:.0f} MB more than before, at most")
    return wrong + (grown > 500)


def _bytes(rng: random.Random, source: Path, path: Path) -> None:
    data = bytearray(source.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 20])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


def _cut(rng: random.Random, source: Path, path: Path) -> None:
    data = source.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def _members(rng: random.Random, source: Path, path: Path) -> None:
    """The checksums are right, and what is in the members is not: arrays of other shapes, types, numbers, sizes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        names = old.namelist()
        victim = rng.choice(names[1:])
        for name in names:
            data = old.read(name)
            if name == victim:
                data = rng.choice(SPOIL)(rng, data)
            new.writestr(
                zipfile.ZipInfo(name),
                data,
                compress_type=rng.choice([0, 0, 0, zipfile.ZIP_DEFLATED]) if name == victim else 0,
            )


def _text(rng: random.Random, source: Path, path: Path) -> None:
    """Values in the JSON are others: numbers, names, references, kinds."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "about.json":
                about = json.loads(data)
                for _ in range(rng.choice([1, 2])):
                    places = list(_places(about))
                    holder, key = rng.choice(places)
                    holder[key] = rng.choice(
                        [
                            None,
                            -1,
                            10**9,
                            10**30,
                            1e308,
                            "",
                            "os.system",
                            "mesh",
                            [],
                            {},
                            True,
                            {"$": "array", "at": 3},
                            {"$": "object", "at": 0},
                        ]
                    )
                data = json.dumps(about).encode()
            new.writestr(zipfile.ZipInfo(name), data)


def _places(value: object):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def _npy(array: np.ndarray, shape: str | None = None) -> bytes:
    import io

    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    data = stream.getvalue()
    if shape is not None:  # a header that says more than there is
        text = data[10 : data.index(b"\n")].decode()
        start = text.index("'shape': ") + 9
        text = text[:start] + shape + ", }"
        text = text + " " * (118 - len(text)) + "\n"
        data = data[:8] + len(text).to_bytes(2, "little") + text.encode() + data[data.index(b"\n") + 1 :]
    return data


def _array(data: bytes) -> np.ndarray:
    import io

    return np.load(io.BytesIO(data))


SPOIL = [
    lambda rng, data: _npy(_array(data), "(1000000000000, 4)"),
    lambda rng, data: _npy(_array(data), "(99999999,)"),
    lambda rng, data: _npy(_array(data)[..., None]),
    lambda rng, data: _npy(_array(data).astype(np.float16)),
    lambda rng, data: _npy(_array(data).astype(np.int64)),
    lambda rng, data: _npy(np.full_like(_array(data), 2**31 - 1 if _array(data).dtype.kind == "i" else np.nan)),
    lambda rng, data: _npy(np.full_like(_array(data), -5)) if _array(data).dtype.kind in "if" else data[:-1],
    lambda rng, data: _npy(np.atleast_1d(_array(data))[:-1]),
    lambda rng, data: _npy(np.concatenate([np.atleast_1d(_array(data))] * 2)),
    lambda rng, data: _npy(rng.sample(range(10**6), 1)[0] * np.atleast_1d(_array(data))),
    lambda rng, data: b"\x93NUMPY\x01\x00" + b"\xff\xff" + b"(" * 65535,
    lambda rng, data: b"",
    lambda rng, data: os.urandom(len(data)),
]
WAYS = {"bytes": _bytes, "cut": _cut, "members": _members, "text": _text}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    for name, call, option, default in (
        ("resume", resume, "frames", 50),
        ("kill", kill, "times", 100),
        ("hostile", hostile, "files", 500),
    ):
        sub = parts.add_parser(name, help=(call.__doc__ or "").splitlines()[0])
        sub.add_argument(f"--{option}", type=int, default=default)
        sub.add_argument("--seed", type=int, default=0)
        sub.add_argument("--only", default="", help="cases whose name has this in it")
        sub.set_defaults(call=call)
    arguments = parser.parse_args()
    return min(arguments.call(arguments), 100)


if __name__ == "__main__":
    sys.exit(main())
