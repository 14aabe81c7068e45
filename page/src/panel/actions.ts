// What a button and its key both do.

import { signal } from "@preact/signals";

import { RANGES } from "../messages";
import type { ColourBy } from "../messages";
import { link, send, stageActions, state } from "../store";
import { tool, type Tool } from "../tools";
import { change, has, rigid, settings, solvers } from "./settings";

/** What the body can be coloured by, in words. */
export const COLOUR_NAMES: Record<ColourBy, string> = {
  plain: "Plain",
  strain: "Strain",
  velocity: "Velocity",
  graph: "Graph",
  contact: "Contact",
  residual: "Residual",
  conversion: "Conversion",
};

export const helpOpen = signal(false);
export const recordingFormat = signal("mp4");

const BREEZE = 4; // m/s, for a first wind
let lastWind = BREEZE;
let lastCompare = "";

const there = () => (link.peek() === "open" ? settings.peek() : null);

export function togglePause(): void {
  const now = there();
  if (now) change("paused", !now.paused);
}

export function step(): void {
  if (there()?.paused) send({ type: "run", what: "step" });
}

export function reset(): void {
  if (there()) send({ type: "run", what: "reset" });
}

export function home(): void {
  stageActions.home();
}

export function fit(): void {
  stageActions.fit();
}

export function still(): void {
  stageActions.still();
}

export function nextColouring(): void {
  const now = there();
  const kinds = state.peek()?.colourings ?? [];
  if (!now || kinds.length < 2) return;
  const next = kinds[(kinds.indexOf(now.colour_by) + 1) % kinds.length];
  if (next) change("colour_by", next);
}

/** Who shows the difference best, in this order. */
const OPPONENTS = ["auto", "lbfgs(multigrid)", "vivace", "jacobi"];

/** Beside what a solver is compared when nobody said. */
export function opponent(solver: string): string {
  const names = solvers.peek().map((one) => one.name).filter((name) => name !== solver);
  if (lastCompare && names.includes(lastCompare)) return lastCompare;
  return OPPONENTS.find((name) => names.includes(name)) ?? names[0] ?? "";
}

export function compareWith(solver: string): void {
  if (solver) lastCompare = solver;
  change("compare", solver);
}

export function toggleSplit(): void {
  const now = there();
  if (!now || !has("compare")) return;
  if (now.compare) lastCompare = now.compare;
  change("compare", now.compare ? "" : opponent(now.solver));
}

export function nextSolver(by: 1 | -1): void {
  const now = there();
  const names = solvers.peek().map((one) => one.name);
  if (!now || names.length === 0) return;
  const next = names[(names.indexOf(now.solver) + by + names.length) % names.length];
  if (next) change("solver", next);
}

/** Of iterations ten times as many. */
export function changeBudget(by: number): void {
  const now = there();
  if (!now) return;
  if (now.iterations !== null) {
    const [least, most] = RANGES.iterations;
    change("iterations", Math.min(most, Math.max(least, now.iterations + 10 * by)));
    return;
  }
  const [least, most] = RANGES.budget_ms;
  change("budget_ms", Math.min(most, Math.max(least, now.budget_ms + by)));
}

export function toggleWind(): void {
  const now = there();
  if (!now || !has("wind")) return;
  if (now.wind > 0) lastWind = now.wind;
  change("wind", now.wind > 0 ? 0 : lastWind);
}

export function toggleRecording(): void {
  if (there()) send({ type: "set_recording", on: !state.peek()?.recording });
}

export function saveRecording(): void {
  send({ type: "save", what: "recording", format: recordingFormat.peek(), ...stageActions.camera() });
}

export function undo(): void {
  if (there() && state.peek()?.undo) send({ type: "history", what: "undo" });
}

export function redo(): void {
  if (there() && state.peek()?.redo) send({ type: "history", what: "redo" });
}

export function choose(which: Tool): void {
  tool.value = rigid.peek() || tool.peek() === which ? "hand" : which;
}

export function saveScene(): void {
  send({ type: "save", what: "scene" });
}
