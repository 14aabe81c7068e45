// How the page keeps up: frames a second, and the time from a pointer's event to the frame that obeys it.

import { pace } from "../store";

const KEPT = 200; // latencies that the median is of
const MOST = 20_000; // that are remembered
const TOLD = 500; // ms between two reports

export class PaceMeter {
  /** All since the last reset, ms. */
  latencies: number[] = [];
  frames = 0;
  readonly #times: number[] = [];
  readonly #waiting: { order: number; time: number }[] = [];

  constructor() {
    window.setInterval(() => this.#tell(), TOLD);
  }

  /** An order went out that answers a pointer's event of that time. */
  ordered(order: number, time: number): void {
    this.#waiting.push({ order, time });
    if (this.#waiting.length > 1000) this.#waiting.shift(); // nobody obeys
  }

  /** A frame that obeys all up to `order` has been drawn. */
  drawn(order: number): void {
    const now = performance.now();
    this.frames += 1;
    this.#times.push(now);
    if (this.latencies.length > MOST) this.latencies.splice(0, MOST / 2);
    while (this.#waiting.length && this.#waiting[0].order <= order) {
      this.latencies.push(now - this.#waiting.shift()!.time);
    }
  }

  /** Frames of the last second. */
  fps(): number {
    const now = performance.now();
    while (this.#times.length && this.#times[0] < now - 1000) this.#times.shift();
    return this.#times.length;
  }

  /** Another connection: what was ordered on the old one will not come. */
  forget(): void {
    this.#waiting.length = 0;
  }

  reset(): void {
    this.latencies = [];
    this.frames = 0;
    this.#times.length = 0;
  }

  #tell(): void {
    const lately = this.latencies.slice(-KEPT).sort((a, b) => a - b);
    const latency = lately.length ? lately[lately.length >> 1] : null;
    const fps = this.fps();
    if (pace.value.fps !== fps || pace.value.latency !== latency) pace.value = { fps, latency };
  }
}
