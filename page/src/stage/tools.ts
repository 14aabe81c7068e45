// Pins and cuts with the pointer: a click or a box pins, a stroke cuts. With the hand, the pointer is left to others.

import { type PerspectiveCamera, Vector3 } from "three";

import type { SceneData } from "../messages";
import { array, type Message } from "../packing";
import { link, notify, scene, send } from "../store";
import { CLICK, length, parts, thinned, tool, within, type Place } from "../tools";
import { viewAt, viewports } from "./layout";
import { rayThrough, type Hit } from "./picking";

const SVG = "http://www.w3.org/2000/svg";
const LONG_ENOUGH = 12; // CSS pixels of a stroke; a shorter one was a click
const CURSORS = { hand: "", pin: "crosshair", cut: "crosshair" } as const;

interface Surroundings {
  camera: PerspectiveCamera;
  pick(x: number, y: number): Hit | null;
  positions(view: number): Float32Array;
}

interface Drawing {
  pointer: number;
  view: number;
  places: Place[];
}

export class Tools {
  readonly #canvas: HTMLCanvasElement;
  readonly #around: Surroundings;
  readonly #line = document.createElementNS(SVG, "polyline");
  readonly #box = document.createElementNS(SVG, "rect");
  #pinned = new Set<number>();
  #drawing: Drawing | null = null;
  #edits = 0;

  constructor(canvas: HTMLCanvasElement, around: Surroundings) {
    this.#canvas = canvas;
    this.#around = around;
    const sheet = document.createElementNS(SVG, "svg");
    sheet.setAttribute("class", "strokes");
    sheet.setAttribute("aria-hidden", "true");
    sheet.append(this.#box, this.#line);
    canvas.after(sheet);
    // On what holds the canvas, before all listeners of the canvas itself: neither a hand nor the camera is to move.
    const around_ = canvas.parentElement ?? canvas;
    const first = { capture: true };
    around_.addEventListener("pointerdown", (event) => this.#down(event), first);
    around_.addEventListener("pointermove", (event) => this.#move(event), first);
    for (const end of ["pointerup", "pointercancel"] as const) {
      around_.addEventListener(end, (event) => this.#up(event), first);
    }
    around_.addEventListener("keydown", (event) => this.#key(event), first);
    canvas.addEventListener("blur", () => delete canvas.dataset.pointed);
    tool.subscribe((now) => {
      this.#forget();
      canvas.style.cursor = CURSORS[now];
      document.body.dataset.tool = now;
    });
  }

  /** Which vertices are pinned. */
  load(message: Message<SceneData>): void {
    this.#pinned = new Set(array(message, "pinned", Uint32Array) ?? []);
  }

  #down(event: PointerEvent): void {
    if (tool.value === "hand" || event.target !== this.#canvas || event.button !== 0) return;
    if (event.shiftKey || event.ctrlKey || link.value !== "open") return;
    event.stopPropagation();
    event.preventDefault();
    this.#canvas.dataset.pointed = "true"; // no guide for the keyboard
    this.#canvas.focus({ preventScroll: true });
    if (this.#drawing) return; // one stroke at a time
    this.#canvas.setPointerCapture(event.pointerId);
    const place = this.#place(event);
    this.#drawing = { pointer: event.pointerId, view: viewAt(...place), places: [place] };
  }

  #move(event: PointerEvent): void {
    if (tool.value === "hand" || event.target !== this.#canvas) return;
    if (event.buttons === 0 || this.#drawing) event.stopPropagation(); // no hand that hovers
    const drawing = this.#drawing;
    if (!drawing || drawing.pointer !== event.pointerId) return;
    const between = event.getCoalescedEvents?.() ?? [];
    for (const one of between.length ? between : [event]) drawing.places.push(this.#place(one));
    this.#show(drawing.places);
  }

  #up(event: PointerEvent): void {
    const drawing = this.#drawing;
    if (!drawing || drawing.pointer !== event.pointerId) return;
    event.stopPropagation();
    drawing.places.push(this.#place(event));
    this.#forget();
    if (event.type === "pointercancel") return;
    if (tool.value === "cut") this.#cut(drawing);
    else this.#pin(drawing);
  }

  /** Without a pointer: what is in the middle of the view, and along the upright line through it. */
  #key(event: KeyboardEvent): void {
    if (tool.value === "hand" || event.target !== this.#canvas || event.key !== "Enter" || event.repeat) return;
    event.preventDefault();
    event.stopPropagation(); // no hand that aims
    const { x, y, width, height } = viewports.value[0];
    const middle: Place = [x + width / 2, y + height / 2];
    if (tool.value === "pin") this.#pin({ pointer: 0, view: 0, places: [middle] });
    else this.#cut({ pointer: 0, view: 0, places: [[middle[0], y], middle, [middle[0], y + height]] });
  }

  #pin({ places, view }: Drawing): void {
    const [from, to] = [places[0], places[places.length - 1]];
    const soft = scene.value?.soft ?? 0;
    if (!soft) return notify("error", "Rigid bodies have no pins.");
    let chosen: number[];
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) < CLICK) {
      const hit = this.#around.pick(...from);
      if (!hit || hit.vertex >= soft) return notify("info", "Click on the body, or draw a box around what is to be pinned.");
      chosen = [hit.vertex];
    } else {
      chosen = within(soft, from, to, this.#eyesight(view));
      if (!chosen.length) return notify("info", "There is nothing in this box.");
    }
    // What is pinned already is let go, if there is nothing else.
    const on = chosen.some((vertex) => !this.#pinned.has(vertex));
    const wanted = chosen.filter((vertex) => this.#pinned.has(vertex) !== on);
    const edit = ++this.#edits;
    for (const vertices of parts(wanted)) send({ type: "pin", vertices, on, scene: scene.value?.scene ?? 0, edit });
  }

  #cut({ places, view }: Drawing): void {
    if (length(places) < LONG_ENOUGH) return notify("info", "Draw a stroke over the body to cut it.");
    const { camera } = this.#around;
    const viewport = viewports.value[view] ?? viewports.value[0];
    const far = camera.position.length() + 10 * camera.near + 1;
    const stroke = thinned(places).map(([x, y]) =>
      rayThrough(x, y, viewport, camera).at(far, new Vector3()).toArray().map(rounded),
    );
    if (stroke.length < 2) return;
    send({ type: "cut", eye: camera.position.toArray(), stroke, scene: scene.value?.scene ?? 0 });
  }

  /** Where vertices are seen in a view. */
  #eyesight(view: number): (vertex: number) => Place | null {
    const positions = this.#around.positions(view);
    const { x, y, width, height } = viewports.value[view] ?? viewports.value[0];
    const { camera } = this.#around;
    const point = new Vector3();
    return (vertex) => {
      point.fromArray(positions, 3 * vertex).project(camera);
      if (point.z < -1 || point.z > 1) return null;
      return [x + ((point.x + 1) / 2) * width, y + ((1 - point.y) / 2) * height];
    };
  }

  #show(places: readonly Place[]): void {
    const [from, to] = [places[0], places[places.length - 1]];
    if (tool.value === "cut") this.#line.setAttribute("points", places.map((place) => place.join(",")).join(" "));
    else {
      this.#box.setAttribute("x", String(Math.min(from[0], to[0])));
      this.#box.setAttribute("y", String(Math.min(from[1], to[1])));
      this.#box.setAttribute("width", String(Math.abs(to[0] - from[0])));
      this.#box.setAttribute("height", String(Math.abs(to[1] - from[1])));
    }
  }

  #forget(): void {
    this.#drawing = null;
    this.#line.removeAttribute("points");
    for (const name of ["x", "y", "width", "height"]) this.#box.removeAttribute(name);
  }

  #place(event: PointerEvent): Place {
    const box = this.#canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** Six digits are finer than a pixel, and short. */
function rounded(value: number): number {
  return Number(value.toPrecision(7));
}
