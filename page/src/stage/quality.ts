// How much is drawn: as much as the screen and the machine allow, less of it step by step when pictures take long, and what the
// person says before all. Fewer pixels than three quarters of what text has are never drawn: that looks broken.

export type QualityChoice = "auto" | "high" | "low";
export const QUALITY_CHOICES: readonly QualityChoice[] = ["auto", "high", "low"];

export interface Level {
  /** Pixels to one of CSS. */
  ratio: number;
  /** Light for every pixel, and shadows by the light's own picture, of so many pixels; otherwise light at the vertices. */
  fine: boolean;
  map: number;
  /** Threads and hems. */
  threads: boolean;
  /** The floor, and what is behind it. */
  backdrop: boolean;
  /** ms between two looks at what is in the shade. */
  pause: number;
}

export const LEAST_RATIO = 0.75;
const SHARPEST = 2;
const SLOW = 50; // ms for a picture, on average
const QUICK = 14;
const JUDGED = 24; // pictures before the first judgement
const PATIENT = 400; // quick pictures before a step up
const RAISES = 2; // then it stays: going to and fro would be worse than either

const FINE: Omit<Level, "ratio"> = { fine: true, map: 2048, threads: true, backdrop: true, pause: 0 };
const COARSE: Omit<Level, "ratio"> = { fine: false, map: 0, threads: true, backdrop: true, pause: 60 };

/** From the best to the least. `frugal`: the processor draws, and every pixel counts. */
export function levels(device: number, frugal: boolean): Level[] {
  const sharpest = Math.min(Math.max(device, LEAST_RATIO), SHARPEST);
  if (frugal) {
    return [
      { ...COARSE, ratio: Math.min(sharpest, 1) },
      { ...COARSE, ratio: Math.min(sharpest, 0.85), backdrop: false },
      { ...COARSE, ratio: LEAST_RATIO, backdrop: false },
      { ...COARSE, ratio: LEAST_RATIO, backdrop: false, threads: false, pause: 120 },
    ];
  }
  return [
    { ...FINE, ratio: sharpest },
    ...(sharpest > 1.25 ? [{ ...FINE, ratio: 1.25 }] : []),
    ...(sharpest > 1 ? [{ ...FINE, ratio: 1 }] : []),
    { ...FINE, ratio: Math.min(sharpest, 1), map: 1024, pause: 30 },
    { ...COARSE, ratio: Math.min(sharpest, 1) },
    { ...COARSE, ratio: LEAST_RATIO, threads: false },
  ];
}

const FRUGAL_START = 2; // costs what a picture without threads and with fewer pixels used to

export class Quality {
  readonly #levels: Level[];
  readonly #best: Level;
  readonly #start: number;
  #choice: QualityChoice;
  #step: number;
  #mean = 16;
  #quick = 0;
  #settled = 0;
  #raises = RAISES;

  constructor(device: number, frugal: boolean, choice: QualityChoice) {
    this.#levels = levels(device, frugal);
    this.#best = { ...FINE, ratio: frugal ? Math.min(this.#levels[0].ratio, 1) : this.#levels[0].ratio };
    this.#step = this.#start = frugal ? FRUGAL_START : 0;
    this.#choice = choice;
  }

  get choice(): QualityChoice {
    return this.#choice;
  }

  get level(): Level {
    if (this.#choice === "high") return this.#best;
    return this.#choice === "low" ? this.#levels[this.#levels.length - 1] : this.#levels[this.#step];
  }

  /** What the person wants; `auto` begins anew. */
  choose(choice: QualityChoice): void {
    this.#choice = choice;
    this.#step = this.#start;
    this.#raises = RAISES;
    this.#forget();
  }

  /** A picture came `ms` after it was asked for; says whether the level changed. */
  measure(ms: number): boolean {
    if (this.#choice !== "auto") return false;
    this.#mean += (Math.min(ms, 250) - this.#mean) / 12;
    this.#settled += 1;
    this.#quick = this.#mean < QUICK ? this.#quick + 1 : 0;
    if (this.#mean > SLOW && this.#settled > JUDGED && this.#step < this.#levels.length - 1) return this.#go(1);
    if (this.#quick > PATIENT && this.#step > 0 && this.#raises-- > 0) return this.#go(-1);
    return false;
  }

  #go(by: number): true {
    this.#step += by;
    this.#forget();
    return true;
  }

  #forget(): void {
    this.#mean = 16;
    this.#quick = this.#settled = 0;
  }
}
