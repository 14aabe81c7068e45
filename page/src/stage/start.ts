// Brings up the stage, or says why there is none; and what tests look at.

import { WebGLRenderer, type PerspectiveCamera } from "three";

import { notify, stageActions } from "../store";
import type { Level } from "./quality";
import { Stage } from "./stage";

/** For tests and for the curious, as `window.vivace`. */
export interface Probe {
  fps(): number;
  readonly latencies: number[];
  readonly frames: number;
  readonly ready: boolean;
  readonly level: Level;
  readonly camera: PerspectiveCamera;
  resetStats(): void;
  project(vertex: number, view?: number): [number, number];
  /** Where a place in the scene (m) is seen. */
  seen(point: number[], view?: number): [number, number];
  /** What a hand would take at a place of the page. */
  under(x: number, y: number): "body" | "thing" | "";
  /** Look from a place at another (m). */
  stand(eye: number[], target: number[]): void;
  positions(view?: number): Float32Array;
  /** Mean ms to draw the frame that is shown, of so many draws. */
  time(draws: number): number;
  /** Draw the frame that is shown as it is seen when nothing has moved for a while. */
  settle(): void;
}

declare global {
  interface Window {
    vivace?: Probe;
  }
}

const WITHOUT = "This browser gives the page no WebGL 2, so the bodies cannot be drawn. The panel still works.";

/** Whether the processor draws; smoothing edges and a backdrop then cost more than all the rest. */
function withoutCard(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /llvmpipe|softpipe|swiftshader|software|basic render/i.test(name);
}

/** Null where the browser cannot draw. */
export function startStage(): Stage | null {
  const canvas = document.querySelector<HTMLCanvasElement>("canvas#view");
  if (!canvas) throw new Error("the page has no canvas#view");
  let renderer: WebGLRenderer;
  const frugal = withoutCard();
  try {
    // Made here and not by the renderer, which would ask for alpha: nothing shines through, so nothing need be blended.
    const context = canvas.getContext("webgl2", {
      alpha: false,
      antialias: !frugal,
      depth: true,
      stencil: false,
      powerPreference: "high-performance",
    });
    if (!context) throw new Error("no context");
    renderer = new WebGLRenderer({ canvas, context });
  } catch {
    const text = document.createElement("p");
    text.className = "stage-message";
    text.setAttribute("role", "alert");
    text.textContent = WITHOUT;
    Object.assign(text.style, { position: "absolute", inset: "40% 15% auto", textAlign: "center" });
    canvas.after(text);
    notify("error", WITHOUT);
    return null;
  }
  const stage = new Stage(canvas, renderer, frugal);
  window.vivace = {
    fps: () => stage.pace.fps(),
    get latencies() {
      return stage.pace.latencies;
    },
    get frames() {
      return stage.pace.frames;
    },
    get ready() {
      return stage.ready;
    },
    get level() {
      return stage.level;
    },
    camera: stage.camera,
    resetStats: () => stage.pace.reset(),
    project: (vertex, view) => stage.project(vertex, view),
    seen: (point, view) => stage.seen(point, view),
    under: (x, y) => stage.under(x, y),
    stand: (eye, target) => stageActions.look(eye, target),
    positions: (view) => stage.positions(view),
    time: (draws) => stage.time(draws),
    settle: () => stage.settle(),
  };
  return stage;
}
