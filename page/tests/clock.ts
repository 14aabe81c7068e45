// A clock that stands still until a test moves it, with the timers that hang on it.

interface Timer {
  at: number;
  every: number | null;
  run: () => void;
}

export class FakeClock {
  now = 0;
  readonly #timers = new Map<number, Timer>();
  readonly #real = performance.now;
  #last = 0;

  /** From here on `performance.now` and the timers of `window` are ours. */
  install(): void {
    performance.now = () => this.now;
    const window = {
      setInterval: (run: () => void, every: number) => this.#add(run, every, every),
      setTimeout: (run: () => void, delay: number) => this.#add(run, delay, null),
      clearTimeout: (id: number) => void this.#timers.delete(id),
    };
    Object.assign(globalThis, { window });
  }

  remove(): void {
    performance.now = this.#real;
    Reflect.deleteProperty(globalThis, "window");
  }

  /** Let `ms` pass; timers that come due run at their own time, in their order. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [id, timer] = due;
      this.now = timer.at;
      if (timer.every === null) this.#timers.delete(id);
      else timer.at += timer.every;
      timer.run();
    }
    this.now = end;
  }

  #add(run: () => void, delay: number, every: number | null): number {
    this.#timers.set(++this.#last, { at: this.now + delay, every, run });
    return this.#last;
  }
}
