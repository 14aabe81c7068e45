"""Damaged and hostile files: each is refused with an error of ours, or read as finite numbers."""

from __future__ import annotations

import collections
import pickle
import re
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import vivace as vv
from vivace.caches import CACHES, Animation

LARGE_NUMBERS = (
    b"\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff",
    b"\0\0\0\x80",
    b"\x7f\xff\xff\xff",
    b"\0\0\xc0\x7f",
    b"\0\0\0\0",
)
WORDS = (b"999999999", b"-1", b"1e999", b"nan", b"0", b"9" * 400)


def mutated(data: bytes, random: Random) -> bytes:
    """A copy with bytes changed, lost, repeated or put in, or with a number made absurd; most of it near the start."""
    out = bytearray(data)
    for _ in range(random.randint(1, 4)):
        near = min(len(out), random.choice([64, 600, 4000, len(out)])) or 1
        at = random.randrange(near)
        kind = random.randrange(7)
        if kind == 0:
            out[at : at + 1] = bytes([random.randrange(256)])
        elif kind == 1:
            out[at : at + 4] = random.choice(LARGE_NUMBERS)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + random.randint(1, 40)]
        elif kind == 4:
            out[at:at] = out[at : at + random.randint(1, 400)]
        elif kind == 5:
            out[at:at] = random.randbytes(random.randint(1, 40))
        else:
            found = list(re.finditer(rb"\d+(\.\d+)?", bytes(out[:near])))
            if found:
                one = random.choice(found)
                out[one.start() : one.end()] = random.choice(WORDS)
        if not out:
            break
    return bytes(out)


class Touch:
    """What a pickle runs when it is loaded, if somebody loads it."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def traps(suffix: str, data: bytes, canary: Path) -> list[bytes]:
    """Files that would have something run or opened."""
    if suffix == ".npz":
        import io

        array = np.empty(1, object)
        array[0] = Touch(canary)
        buffer = io.BytesIO()
        np.savez(buffer, positions=array)
        return [buffer.getvalue(), pickle.dumps(Touch(canary))]
    if suffix == ".usda":
        other = b'#usda 1.0\ndef Mesh "a" (\n    prepend references = @/etc/passwd@\n)\n{\n}\n'
        return [other, other.replace(b"references", b"payload"), b"#usda 1.0\n(\n    subLayers = [@/etc/passwd@]\n)\n"]
    if suffix == ".usdc":
        return list(referring_layers(canary.parent))
    if suffix == ".xdmf":
        return list(referring_arrays(data, canary.parent))
    if suffix == ".obj":
        return [data + b"mtllib /etc/passwd\ncall /etc/passwd\n", data + b"f " + b"1 " * 100_000 + b"\n"]
    return []


def referring_layers(folder: Path) -> Iterator[bytes]:
    """Binary USD that has another file as a reference, a payload, a layer below, and as clips of values."""
    from pxr import Sdf

    for word in ("references", "payload", "subLayers", "clips"):
        layer, path = Sdf.Layer.CreateAnonymous(".usdc"), folder / "trap.usdc"
        prim = Sdf.CreatePrimInLayer(layer, "/a")
        prim.specifier, prim.typeName = Sdf.SpecifierDef, "Mesh"
        if word == "references":
            prim.referenceList.Prepend(Sdf.Reference("/etc/passwd"))
        elif word == "payload":
            prim.payloadList.Prepend(Sdf.Payload("/etc/passwd"))
        elif word == "subLayers":
            layer.subLayerPaths.append("/etc/passwd")
        else:
            prim.SetInfo("clips", {"default": {"manifestAssetPath": Sdf.AssetPath("/etc/passwd")}})
        layer.Export(str(path))
        yield path.read_bytes()
        path.unlink()


def referring_arrays(data: bytes, folder: Path) -> Iterator[bytes]:
    """HDF5 whose positions are in another file, by links and storage, or larger than any memory, or packed well."""
    import h5py

    def link(file: Any) -> None:
        file["positions/000001"] = h5py.ExternalLink("/etc/passwd", "/a")

    def own_link(file: Any) -> None:
        file["positions/000001"] = h5py.SoftLink("/positions")

    def stored(file: Any) -> None:
        file.create_dataset("positions/000001", (144, 3), "f4", external=[("/etc/passwd", 0, 12 * 144)])

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout((144, 3), "f4")
        layout[:] = h5py.VirtualSource("/etc/passwd", "a", (144, 3))
        file.create_virtual_dataset("positions/000001", layout)

    def vast(file: Any) -> None:
        for name in list(file["positions"]):
            del file["positions"][name]
        file.create_dataset("positions/000000", (10**12, 3), "f4", chunks=(1000, 3)).attrs["time"] = 0.0

    def packed(file: Any) -> None:
        del file["triangles"]
        file.create_dataset("triangles", (10**8, 3), "i4", chunks=(10**6, 3), compression="gzip", fillvalue=1)

    def texts(file: Any) -> None:
        del file["positions/000001"]
        file["positions"].create_dataset("000001", data=["a"] * 3, dtype=h5py.string_dtype())

    for spoil in (link, own_link, stored, virtual, vast, packed, texts):
        path = folder / "trap.h5"
        path.write_bytes(data)
        with h5py.File(path, "a") as file:
            if spoil in (link, own_link, stored, virtual):
                del file["positions/000001"]
            spoil(file)
        yield path.read_bytes()
        path.unlink()


def hostile(formats: list[str], meshes: tuple[str, ...], count: int, seed: int, folder: Path) -> None:
    """A row for each kind of file: caches, and meshes."""
    print(f"\n{count} damaged files of each kind\n")
    print("| file | refused | read | other errors | run or opened | most MB more | longest s |")
    print("|---|---|---|---|---|---|---|")
    mesh = vv.mesh.cloth(12, 12)
    for suffix in formats:
        sequence = CACHES[suffix].sequence
        place = folder / "h" / ("###" + suffix if sequence else "a" + suffix)
        frames = [mesh.vertices + 0.01 * k for k in range(3)]
        surface = mesh.showing(None)
        vv.export(frames, place, surface=Textured(surface), time_step=1 / 30)
        target = place.parent / f"000{suffix}" if sequence else place.with_suffix(".h5") if suffix == ".xdmf" else place
        row(
            f"cache `{suffix}`",
            target,
            lambda place=place: vv.caches.read(place, time_step=1 / 30),
            suffix,
            count,
            seed,
        )
        shutil.rmtree(folder / "h")
    for suffix in meshes:
        (folder / "h").mkdir()
        target = folder / "h" / f"a{suffix}"
        vv.mesh.save(mesh, target)
        row(
            f"mesh `{suffix}`",
            target,
            lambda target=target: vv.mesh.load(target, repair=True, split=True),
            suffix,
            count,
            seed,
        )
        shutil.rmtree(folder / "h")


class Textured:
    """A mesh with UVs."""

    def __init__(self, mesh: Any):
        self.triangles, self.n_vertices, self.name = mesh.triangles, mesh.n_vertices, mesh.name
        self.uvs = mesh.vertices[:, :2]

    def at(self, positions: np.ndarray) -> np.ndarray:
        """The vertices are their own."""
        return positions


def row(name: str, target: Path, read: Callable[[], Any], suffix: str, count: int, seed: int) -> None:
    """Damage a file so many times, and say what came of it."""
    whole, random, canary = target.read_bytes(), Random(seed), target.parent / "canary"
    cases = traps(suffix, whole, canary)
    cases += [mutated(whole, random) for _ in range(count - len(cases))]
    outcomes, others, longest = collections.Counter[str](), collections.Counter[str](), 0.0
    before = peak()
    for data in cases:
        target.write_bytes(data)
        start = time.perf_counter()
        try:
            found = read()
            numbers = found.positions if isinstance(found, Animation) else found.vertices
            outcomes["read" if np.isfinite(numbers).all() else "not finite"] += 1
        except (vv.FileError, vv.InputError) as error:
            outcomes["refused" if str(error).strip() else "without a word"] += 1
        except Exception as error:
            others[f"{type(error).__name__}: {error}"[:80]] += 1
        longest = max(longest, time.perf_counter() - start)
    rest = sum(others.values()) + outcomes["not finite"] + outcomes["without a word"]
    ran = "yes" if canary.exists() else "no"
    cells = [name, outcomes["refused"], outcomes["read"], rest, ran, f"{peak() - before:.0f}", f"{longest:.1f}"]
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for text, many in others.items():
        print(f"    {many} x {text}")


def peak() -> float:
    """MB that this process and those that it made have held, at most."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(one).ru_maxrss for one in who) / 1e3
