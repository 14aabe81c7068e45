"""The live app in a real browser: frames a second, latency, and whether the budget holds while somebody drags.

    python benchmarks/viewer.py [--only frames,drag,hostile] [--seconds 10] [--json FILE]

Needs Playwright and Chromium (Debian's package is enough). Without a GPU the browser draws in software, on the same
cores as the physics. `frames` and `drag` are for the tablecloth on its table with 10K and 40K vertices; `hostile` sends
malformed, oversized and out-of-order messages, kills a client in the middle of a frame, and keeps one for a minute
that never reads, while a good client looks on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import platform
import resource
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from vivace import __version__
from vivace.files import write_text
from vivace.viewer import Target, Viewer
from vivace.viewer.packing import unpack

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SIZE = {"width": 1280, "height": 800}
RESOLUTIONS = (100, 200)


@contextmanager
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"there is no browser: none of {', '.join(BROWSERS)} is on the path")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield chromium
        finally:
            chromium.close()


def serve(pipe, resolution: int, parameters: dict) -> None:
    """A viewer in a process of its own: tells its address, and what the physics did whenever it is asked."""
    with Viewer(Target("tablecloth", {"resolution": resolution, **parameters}), port=0) as viewer:
        session, rows = viewer.session, []

        def note(tell=session.notify) -> None:
            snapshot = session.newest
            if snapshot is not None:
                view = snapshot.views[0]
                row = (snapshot.ms, view.report.ms_per_sweep, view.report.sweeps, bool(view.held), view.budget_ms)
                rows.append(row)
            tell()

        session.notify = note
        pipe.send(viewer.url)
        while pipe.recv():
            pipe.send(list(rows))
            rows.clear()


@contextmanager
def shown(chromium, resolution: int, **parameters) -> Iterator:
    """A viewer with a page that looks on, and a function that tells what the physics did since it was last called."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=serve, args=(other, resolution, parameters))
    process.start()

    def physics() -> list:
        pipe.send(True)
        return pipe.recv()

    url = pipe.recv()
    begin = time.perf_counter()
    page = chromium.new_page(viewport=SIZE)
    try:
        page.goto(url)
        while not page.evaluate("!!window.vivace && window.vivace.ready"):
            time.sleep(0.02)
        first = time.perf_counter() - begin
        time.sleep(4)  # what has to be compiled is, and the browser has warmed up
        physics()
        yield physics, page, first
    finally:
        page.close()
        pipe.send(False)
        process.join()


def frames(seconds: float) -> list[dict]:
    """Frames a second while the cloth is only looked at."""
    rows = []
    with browser() as chromium:
        for resolution in RESOLUTIONS:
            for h in (0.033, 1 / 60):
                with shown(chromium, resolution, time_step=h) as (physics, page, first):
                    page.evaluate("window.vivace.resetStats()")
                    begin, _ = time.perf_counter(), physics()
                    time.sleep(seconds)
                    drawn = page.evaluate("window.vivace.frames")
                    took = time.perf_counter() - begin
                    rows.append(
                        {
                            "vertices": resolution**2,
                            "time_step": h,
                            "page_fps": drawn / took,
                            "physics_fps": len(physics()) / took,
                            "first_frame_s": first,
                        }
                    )
                    print(_line(rows[-1]), flush=True)
    return rows


def drag(seconds: float) -> list[dict]:
    """A corner is dragged in circles at the display's rate: latency, and physics time against the budget."""
    rows = []
    with browser() as chromium:
        for resolution in RESOLUTIONS:
            with shown(chromium, resolution) as (physics, page, _):
                x, y = page.evaluate(f"window.vivace.project({2 * resolution + 2})")  # a corner, not quite at its tip
                page.mouse.move(x, y)
                page.mouse.down()
                page.evaluate("window.vivace.resetStats()")
                begin = time.perf_counter()
                while (t := time.perf_counter() - begin) < seconds:
                    page.mouse.move(x + 120 * math.sin(2 * t), y - 80 * (1 - math.cos(2 * t)))
                    time.sleep(max(0.0, 0.016 - (time.perf_counter() - begin - t)))
                drawn, latencies = page.evaluate("[window.vivace.frames, window.vivace.latencies]")
                took = time.perf_counter() - begin
                page.mouse.up()
                ms, sweep, sweeps, _, budgets = np.array([row for row in physics() if row[3]]).T
                budget = budgets[0]
                rows.append(
                    {
                        "vertices": resolution**2,
                        "page_fps": drawn / took,
                        "latency_ms": _spread(latencies),
                        "budget_ms": budget,
                        "sweep_ms": float(np.median(sweep)),
                        "physics_ms": _spread(ms),
                        "physics_ms_p99": float(np.percentile(ms, 99)),
                        "sweeps": float(np.median(sweeps)),
                        "share_within_budget_and_sweep": float(np.mean(ms <= budget + sweep)),
                        "frames": len(ms),
                    }
                )
                print(_line(rows[-1]), flush=True)
    return rows


def hostile(seconds: float) -> dict:
    """Bad clients beside a good one."""
    with Viewer(Target("tablecloth", {"resolution": 100}), port=0) as viewer:
        return asyncio.run(_besiege(viewer, seconds))


async def _besiege(viewer: Viewer, seconds: float) -> dict:
    address = f"ws://127.0.0.1:{viewer.port}/socket?token={viewer.gate.token}"
    good = {"frames": 0}
    looking = asyncio.create_task(_look(address, good))
    await asyncio.sleep(3)
    before, calm = _memory_mb(), await _rate(good, 5)
    await asyncio.gather(*(_send_rubbish(address, seed) for seed in range(4)))
    await _die_in_a_frame(viewer)
    rubbish = await _rate(good, 3)
    deaf = _deaf_client(viewer)
    rates, memory = [], []
    for _ in range(max(1, round(seconds / 5))):
        rates.append(await _rate(good, 5))
        memory.append(_memory_mb())
    deaf.close()
    looking.cancel()
    return {
        "good_fps_before": calm,
        "good_fps_after_rubbish": rubbish,
        "good_fps_beside_deaf": _spread(rates),
        "memory_mb_before": before,
        "memory_mb_beside_deaf": [min(memory), max(memory)],
        "memory_mb_growth": memory[-1] - memory[0],
        "seconds": seconds,
        "alive": viewer.session._thread.is_alive() and looking.cancelled() is False,
    }


async def _look(address: str, good: dict) -> None:
    async with connect(address, max_size=None) as connection:
        async for message in connection:
            if isinstance(message, bytes) and (header := unpack(message)[0])["type"] == "frame":
                good["frames"] += 1
                await connection.send(json.dumps({"type": "drawn", "frame": header["frame"]}))


async def _rate(good: dict, seconds: float) -> float:
    first, begin = good["frames"], time.perf_counter()
    await asyncio.sleep(seconds)
    return (good["frames"] - first) / (time.perf_counter() - begin)


async def _send_rubbish(address: str, seed: int) -> None:
    """Fifty messages: malformed, oversized, out of order, of the wrong type."""
    rng = np.random.default_rng(seed)
    kinds = (
        lambda: "x" * int(rng.integers(1, 60)),
        lambda: "{" * 200,
        lambda: bytes(rng.integers(0, 256, 40, dtype=np.uint8)),
        lambda: json.dumps({"type": "drag", "pointer": 0, "target": [0, 1e308, 0], "order": 1}),
        lambda: json.dumps({"type": "drag", "pointer": 0, "target": [0, 1, 0], "order": int(rng.integers(0, 9))}),
        lambda: json.dumps({"type": "drawn", "frame": int(rng.integers(0, 10**9))}),
        lambda: json.dumps({"type": "release", "pointer": 9, "order": 0}),
        lambda: json.dumps({"type": "change", "solver": "../../etc/passwd", "budget_ms": 4}),
        lambda: json.dumps({"type": "load_scene", "name": "/etc/passwd"}),
        lambda: "y" * 100_000,
    )
    sent = 0
    while sent < 50:
        try:
            async with connect(address, max_size=None) as connection:
                while sent < 50:
                    sent += 1
                    await connection.send(kinds[sent % len(kinds)]())
                    await asyncio.sleep(0.002)
        except ConnectionClosed:  # an oversized one ends the connection
            continue


async def _die_in_a_frame(viewer: Viewer) -> None:
    """A client that is gone, without a word, while a frame is on its way."""
    for _ in range(5):
        link = await asyncio.to_thread(_raw, viewer)
        await asyncio.sleep(0.05)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset, not closed
        link.close()


def _raw(viewer: Viewer) -> socket.socket:
    """A socket after the handshake, with a small buffer."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect(("127.0.0.1", viewer.port))
    lines = [
        f"GET /socket?token={viewer.gate.token} HTTP/1.1",
        f"Host: 127.0.0.1:{viewer.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dml2YWNlIHZpdmFjZSAhIQ==",
        "Sec-WebSocket-Version: 13",
    ]
    link.sendall("\r\n".join([*lines, "", ""]).encode())
    link.recv(200)
    return link


def _deaf_client(viewer: Viewer) -> socket.socket:
    """One that never reads, and claims all the same to have drawn whatever was sent to it."""
    link = _raw(viewer)

    def claim() -> None:
        with suppress(OSError):
            for k in range(10**9):
                newest = viewer.session.newest
                link.sendall(_masked(json.dumps({"type": "drawn", "frame": (newest.number if newest else 0) - k % 8})))
                time.sleep(0.004)

    threading.Thread(target=claim, daemon=True).start()
    return link


def _masked(text: str) -> bytes:
    """A text message as a client has to send it [RFC 6455, section 5.2]; the mask is zero."""
    body = text.encode()
    return bytes([0x81, 0x80 | len(body), 0, 0, 0, 0]) + body


def _memory_mb() -> float:
    """Resident memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def _spread(values) -> dict[str, float]:
    array = np.asarray(values, float)
    return {"median": float(np.median(array)), "p95": float(np.percentile(array, 95)), "max": float(array.max())}


def _line(row: dict) -> str:
    return "  ".join(
        f"{name} {value if not isinstance(value, float) else f'{value:.4g}'}" for name, value in row.items()
    )


PARTS = {"frames": frames, "drag": drag, "hostile": hostile}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    results: dict = {"version": __version__, "machine": platform.machine(), "seconds": arguments.seconds}
    for name in arguments.only.split(","):
        print(f"--- {name}", flush=True)
        results[name] = PARTS[name](60.0 if name == "hostile" and arguments.seconds >= 10 else arguments.seconds)
        if name == "hostile":
            print(json.dumps(results[name], indent=2))
    if arguments.json:
        write_text(arguments.json, json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
