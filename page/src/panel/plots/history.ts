// What the plots show of the steps that went by, for each simulation: milliseconds by stage, and the last residuals.

import { computed, effect } from "@preact/signals";

import type { FrameData } from "../../messages";
import { frame } from "../../store";
import { rigid } from "../settings";

/** In the order of a step, with the token of the style sheet that has its colour. */
const SOFT_STAGES = ["predict", "collide", "colour", "solve", "guard", "update"].map((stage) => [stage, `stage-${stage}`]);
const RIGID_STAGES = [["detect", "stage-collide"], ["solve", "stage-solve"], ["apart", "stage-guard"], ["move", "stage-update"]];

/** Stages of the bodies that there are now; what a server adds later is counted with the last. */
export const stages = computed(() => (rigid.value ? RIGID_STAGES : SOFT_STAGES) as [string, string][]);
const KEPT = 150;

/** One row for each step, in the order of its stages. */
const rows: [number[][], number[][]] = [[], []];
let last = { scene: -1, frames: -1 };

interface Curve {
  solver: string;
  /** [sweep, norm of the residual that it met] */
  points: [number, number][];
}

const NONE: Curve = { solver: "", points: [] };
const curves: [Curve, Curve] = [NONE, NONE];

/** Not every frame brings residuals, so the last ones stand until there are others, or another solver. */
function keepCurves(now: FrameData): void {
  for (const k of [0, 1] as const) {
    const view = now.views[k];
    const points = (view?.residuals ?? []).filter(([, y]) => y !== undefined && Number.isFinite(y) && y > 0);
    if (view && points.length > 0) curves[k] = { solver: view.solver, points: points as [number, number][] };
    else if (view?.solver !== curves[k].solver) curves[k] = NONE;
  }
}

/** The last residuals of a simulation, those that a logarithm can show. */
export function residuals(view: 0 | 1): [number, number][] {
  return curves[view].points;
}

function keep(now: FrameData): void {
  keepCurves(now);
  const frames = now.views[0]?.frames ?? 0;
  if (now.scene !== last.scene || frames < last.frames) rows.forEach((row) => (row.length = 0));
  else if (frames === last.frames) return; // the same step, drawn again
  last = { scene: now.scene, frames };
  rows.forEach((row, k) => {
    const view = now.views[k];
    if (!view) row.length = 0;
    else {
      const names = stages.peek().map(([name]) => name);
      const ms = new Array<number>(names.length).fill(0);
      for (const [stage, spent] of view.stages) {
        const place = names.indexOf(stage);
        ms[place < 0 ? names.length - 1 : place]! += spent;
      }
      row.push(ms);
      if (row.length > KEPT) row.shift();
    }
  });
}

export function startHistory(): void {
  effect(() => {
    if (frame.value) keep(frame.value);
  });
}

/** For a plot: places from -KEPT to 0, and sums from all stages (on top) down to the first alone. */
export function stacked(view: 0 | 1): [number[], ...number[][]] {
  const kept = rows[view];
  const places = kept.map((_, k) => k - kept.length + 1);
  const sums = stages.peek().map((_, top) => kept.map((ms) => ms.slice(0, top + 1).reduce((sum, part) => sum + part, 0)));
  return [places, ...sums.reverse()];
}

/** The mean of each stage over the last second or so. */
export function means(view: 0 | 1): number[] {
  const kept = rows[view].slice(-30);
  return stages.peek().map((_, stage) => kept.reduce((sum, ms) => sum + (ms[stage] ?? 0), 0) / Math.max(1, kept.length));
}

/** What most steps stay below: a few that had to prepare something would dwarf the rest. */
export function usualMost(view: 0 | 1): number {
  const sums = rows[view].map((ms) => ms.reduce((sum, part) => sum + part, 0)).sort((p, q) => p - q);
  return sums[Math.floor(0.85 * (sums.length - 1))] ?? 0;
}

export const SPAN = KEPT;
