"""What caches of moving vertices keep, cost and hold in memory, and what becomes of damaged ones. Prints tables.

    python benchmarks/caches.py [round-trips] [costs] [memory] [hostile] [--formats .usdc,.glb] [--frames 120]
                                [--film 18000] [--count 500] [--seed 1] [--folder FOLDER]

round-trips: 10,000 vertices x 120 frames through each format, read back by libraries of others, not by ours.
costs: seconds and bytes a frame, beside numpy.savez of the same positions.
memory: of a process that writes a film of 18,000 frames, as it goes on; large formats get fewer.
hostile: files with bytes changed, lost and put in are refused with an error of ours or read as finite numbers.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from caches_hostile import hostile
from caches_readers import READERS, Found

import vivace as vv
from vivace.caches import CACHES, Cache, is_installed

SIDE, H, NAME = 100, 1 / 30, "a sheet"
PATHS = {".obj": "o/####.obj", ".ply": "p/####.ply"}
LARGE = {".obj": 1500, ".usda": 3000, ".ply": 9000}  # frames of formats that take more than 100 KB a frame
FILMS = {".mp4": 900}
MESHES = (".obj", ".ply", ".glb", ".stl")
SAMPLES = 20


def uvs() -> np.ndarray:
    """(n, 2) of a sheet of 10,000 vertices."""
    u, v = np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE))
    return np.stack([u.ravel(), v.ravel()], axis=1).astype(np.float32)


def triangles() -> np.ndarray:
    """(m, 3) of it."""
    k = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel(), k[1:, :-1].ravel()
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)


def frame(number: int, uv: np.ndarray) -> np.ndarray:
    """(n, 3) float32: a wave that runs through a sheet which drifts away, with a little noise."""
    noise = np.random.default_rng(number).normal(0, 1e-3, len(uv))
    height = 0.1 * np.sin(9 * uv[:, 0] + 0.2 * number) + noise
    return np.column_stack([uv[:, 0] + 0.01 * number, height, uv[:, 1] - 3]).astype(np.float32)


class Sheet:
    """What `Cache` takes as a surface."""

    name = NAME

    def __init__(self) -> None:
        self.triangles, self.uvs, self.n_vertices = triangles(), uvs(), SIDE * SIDE

    def at(self, positions: np.ndarray) -> np.ndarray:
        """The vertices are their own."""
        return positions


def written(path: Path, frames: int, unit: str | None = None, each: Callable[[int], None] | None = None) -> Path:
    """A cache of so many frames."""
    sheet = Sheet()
    with Cache(path, sheet, time_step=H, unit=unit) as cache:
        for number in range(frames):
            cache.add(frame(number, sheet.uvs))
            if each is not None:
                each(number)
    return path


def place(folder: Path, suffix: str) -> Path:
    """Where a cache of a format goes."""
    return folder / PATHS.get(suffix, f"a{suffix}")


def size_of(path: Path) -> int:
    """Bytes of a cache, companions and all files of a sequence included."""
    if "#" in path.name:
        return sum(file.stat().st_size for file in path.parent.iterdir())
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.stem}.*"))


def round_trips(formats: list[str], frames: int, folder: Path) -> None:
    """Positions against float32 of what was given; UVs, name, unit and rate as the other library tells them."""
    print(f"\nRound trips of {SIDE * SIDE} vertices x {frames} frames, read by others\n")
    print(
        "| format | read by | largest difference (m) | bits equal | in cm: (roundings of float32) | UVs | name | unit |"
    )
    print("|---|---|---|---|---|---|---|---|")
    uv = uvs()
    for suffix in formats:
        reader = READERS[suffix]
        found = reader(written(place(folder / "m", suffix), frames))
        worst, same, count = 0.0, True, 0
        for number, positions in enumerate(found.frames):
            given = frame(number, uv)
            worst = max(worst, float(np.abs(positions.astype(float) - given.astype(float)).max()))
            same, count = same and np.array_equal(np.float32(positions), given), number + 1
        assert count == frames, f"{suffix}: {count} frames of {frames}"
        texture = "-" if found.uvs is None else f"{np.abs(np.float32(found.uvs) - uv).max():.1g}"
        named = "-" if found.name is None else "kept" if found.name == NAME else repr(found.name)
        print(
            f"| `{suffix}` | {found.reader} | {worst:.2g} | {'yes' if same else 'no'} | "
            f"{in_centimetres(suffix, reader, folder)} | {texture} | {named} | {told_unit(found)} |",
            flush=True,
        )
        shutil.rmtree(folder / "m", ignore_errors=True)


def told_unit(found: Found) -> str:
    """What a file says of its unit."""
    return "by definition" if found.metric else "-" if found.metres is None else f"{found.metres:g} m"


def in_centimetres(suffix: str, reader: Callable[[Path], Found], folder: Path) -> str:
    """Roundings of float32 between 100 x in float64 and what is in a file in centimetres, at most."""
    if CACHES[suffix].metric:
        return "-"
    found, uv, worst = reader(written(place(folder / "cm", suffix), 3, "cm")), uvs(), 0.0
    for number, positions in enumerate(found.frames):
        exact = 100 * frame(number, uv).astype(float)
        worst = max(worst, float((np.abs(positions - exact) / np.spacing(np.float32(np.abs(exact) + 1e-30))).max()))
    shutil.rmtree(folder / "cm", ignore_errors=True)
    said = "" if found.metres in (None, 0.01) else f" but says {found.metres}"
    return f"{worst:.2g}{said}"


def costs(formats: list[str], frames: int, folder: Path) -> None:
    """Seconds a frame in the mean, and bytes; the frames are made beforehand."""
    uv = uvs()
    given = [frame(number, uv) for number in range(frames)]
    print(f"\nSeconds and bytes a frame of {SIDE * SIDE} vertices, {frames} frames\n")
    print("| format | ms a frame to write | of these at the end | KB a frame | of numpy.savez |")
    print("|---|---|---|---|---|")
    start = time.perf_counter()
    np.savez(folder / "raw.npz", positions=np.stack(given))
    seconds, raw = time.perf_counter() - start, (folder / "raw.npz").stat().st_size / frames
    print(f"| numpy.savez | {1e3 * seconds / frames:.2f} | - | {raw / 1e3:.0f} | 1 |", flush=True)
    for suffix in formats:
        path = place(folder / "c", suffix)
        sheet = Sheet()
        start = time.perf_counter()
        cache = Cache(path, sheet, time_step=H)
        for positions in given:
            cache.add(positions)
        middle = time.perf_counter()
        cache.finish()
        end = time.perf_counter()
        size = size_of(path) / frames
        print(
            f"| `{suffix}` | {1e3 * (end - start) / frames:.2f} | {1e3 * (end - middle) / frames:.2f} | "
            f"{size / 1e3:.0f} | {size / raw:.2f} |",
            flush=True,
        )
        shutil.rmtree(folder / "c", ignore_errors=True)


def resident() -> float:
    """MB that this process holds, without pages of files that the system may drop."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) / 1e3


def memory(formats: list[str], film: int, folder: Path) -> None:
    """A process for each format, which says what it holds as it goes on."""
    print(f"\nMB in memory while a film of {SIDE * SIDE} vertices is written\n")
    print("| format | frames | GB | after 5 % | 25 % | 50 % | 75 % | 100 % | at the end | most |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for suffix in [*formats, *FILMS]:
        count = min(film, LARGE.get(suffix, FILMS.get(suffix, film)))
        command = [
            sys.executable,
            __file__,
            "child",
            "--formats",
            suffix,
            "--film",
            str(count),
            "--folder",
            str(folder),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(
            done.stdout.strip() if done.returncode == 0 else f"| `{suffix}` | {done.stderr.strip()[-300:]} |",
            flush=True,
        )
        shutil.rmtree(folder / "memory", ignore_errors=True)


def child(suffix: str, count: int, folder: Path) -> None:
    """Write a film and print a row."""
    found: list[float] = []

    def each(number: int) -> None:
        if (number + 1) % max(1, count // SAMPLES) == 0:
            found.append(resident())

    path = place(folder / "memory", suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    if suffix in FILMS:
        write_film(path, count, each)
    else:
        written(path, count, each=each)
    rows = [found[min(round(share * len(found)), len(found)) - 1] for share in (0.05, 0.25, 0.5, 0.75, 1.0)]
    numbers = " | ".join(f"{value:.0f}" for value in (*rows, resident(), max(*found, resident())))
    print(f"| `{suffix}` | {count:,} | {size_of(path) / 1e9:.2f} | {numbers} |")


def write_film(path: Path, count: int, each: Callable[[int], None]) -> None:
    """A film by the renderer that needs no graphics library."""
    from vivace.pictures import save_animation

    tell = lambda done, total: each(done - 1)  # noqa: E731
    save_animation(path, Frames(count), triangles(), fps=30, backend="raster", size=(640, 360), progress=tell)


class Frames(Sequence[np.ndarray]):
    """Frames that are made when somebody looks."""

    def __init__(self, count: int):
        self._count, self._uvs = count, uvs()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> np.ndarray:  # type: ignore[override]
        if not 0 <= number < self._count:
            raise IndexError(number)
        return frame(number % 300, self._uvs)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["round-trips", "costs", "memory", "hostile"])
    parser.add_argument("--formats", help="suffixes, with commas between them (default: all that are installed)")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--film", type=int, default=18_000)
    parser.add_argument("--count", type=int, default=500, help="damaged files of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="for the files (default: a temporary one)")
    arguments = parser.parse_args()
    installed = [suffix for suffix in CACHES if is_installed(CACHES[suffix])]
    formats = arguments.formats.split(",") if arguments.formats else [s for s in installed if s != ".usd"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        for what in arguments.what:
            if what == "round-trips":
                round_trips(formats, arguments.frames, folder)
            elif what == "costs":
                costs(formats, arguments.frames, folder)
            elif what == "memory":
                memory(formats, arguments.film, folder)
            elif what == "hostile":
                hostile(formats, () if arguments.formats else MESHES, arguments.count, arguments.seed, folder)
            elif what == "child":
                child(formats[0], arguments.film, folder)
            else:
                raise vv.InputError(f"there is no {what!r}; choose from round-trips, costs, memory, hostile")


if __name__ == "__main__":
    main()
