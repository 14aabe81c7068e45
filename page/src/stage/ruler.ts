// Two clicks measure: points stay on the surface that was clicked, and so does the distance while it moves.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, LineBasicMaterial, LineSegments, Points, type ShaderMaterial, Vector3 } from "three";

import { tool } from "../tools";
import { dotMaterial } from "./dots";
import type { Look } from "./look";
import { measured, ruler } from "./options";
import { placeOf, type Grip } from "./picking";

const CLICK = 6; // CSS pixels that a click may move

/** A point of a view: on a surface that moves, or in space. */
export interface Anchor {
  view: number;
  grip: Grip | null;
  point: Vector3;
}

interface Surroundings {
  touch(x: number, y: number): Anchor | null;
  redraw(): void;
}

/** A length as people say it. */
export function lengthText(metres: number): string {
  if (metres < 0.01) return `${(1000 * metres).toFixed(1)} mm`;
  return metres < 10 ? `${(100 * metres).toFixed(1)} cm` : `${metres.toFixed(2)} m`;
}

export class Ruler {
  readonly group = new Group();
  readonly #around: Surroundings;
  readonly #canvas: HTMLCanvasElement;
  readonly #ends = new BufferAttribute(new Float32Array(6), 3).setUsage(DynamicDrawUsage);
  readonly #line = new LineBasicMaterial({ depthTest: false, transparent: true });
  readonly #dot: ShaderMaterial = dotMaterial(0);
  readonly #geometry = new BufferGeometry().setAttribute("position", this.#ends);
  #anchors: Anchor[] = [];
  #down: { x: number; y: number } | null = null;

  constructor(canvas: HTMLCanvasElement, around: Surroundings) {
    this.#canvas = canvas;
    this.#around = around;
    this.#dot.depthTest = false;
    for (const object of [new LineSegments(this.#geometry, this.#line), new Points(this.#geometry, this.#dot)]) {
      object.frustumCulled = false;
      object.renderOrder = 3;
      this.group.add(object);
    }
    canvas.addEventListener("pointerdown", (event) => {
      this.#down = event.button === 0 && event.isPrimary ? { x: event.clientX, y: event.clientY } : null;
    }, { capture: true });
    canvas.addEventListener("pointerup", (event) => {
      const down = this.#down;
      this.#down = null;
      if (!ruler.peek() || !down || Math.hypot(event.clientX - down.x, event.clientY - down.y) > CLICK) return;
      const box = canvas.getBoundingClientRect();
      this.#place(event.clientX - box.left, event.clientY - box.top);
    });
    // First of all who listen: Escape means this, as long as there is something to measure.
    window.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    ruler.subscribe((on) => {
      canvas.dataset.ruler = on ? "on" : "off";
      if (on) tool.value = "hand";
      this.forget();
    });
    tool.subscribe((now) => {
      if (now !== "hand") ruler.value = false; // one tool at a time
    });
  }

  /** Nothing is measured any more: another scene has other vertices. */
  forget(): void {
    this.#anchors = [];
    measured.value = null;
    this.#around.redraw();
  }

  dress(look: Look, pixel: number): void {
    this.#line.color.copy(look.pointer);
    this.#dot.uniforms.colour.value.copy(look.pointer);
    this.#dot.uniforms.size.value = 9 * pixel;
  }

  /** Where the points of a view are now; says how long the line is and where its middle is, if there is one. */
  follow(view: number, positions: Float32Array): { length: number; middle: Vector3 } | null {
    const own = this.#anchors.filter((anchor) => anchor.view === view);
    const places = own.map(({ grip, point }) => (grip ? placeOf(grip, positions) : point));
    this.group.visible = places.length > 0;
    if (!places.length) return null;
    const [first, last = first] = places;
    first.toArray(this.#ends.array as Float32Array, 0);
    last.toArray(this.#ends.array as Float32Array, 3);
    this.#ends.needsUpdate = true;
    if (places.length < 2) return null;
    return { length: first.distanceTo(last), middle: first.clone().add(last).multiplyScalar(0.5) };
  }

  #place(x: number, y: number): void {
    const anchor = this.#around.touch(x, y);
    if (!anchor) return;
    const before = this.#anchors.length === 1 && this.#anchors[0].view === anchor.view ? this.#anchors : [];
    this.#anchors = [...before, anchor];
    if (this.#anchors.length < 2) measured.value = null;
    this.#around.redraw();
  }

  #pressed(event: KeyboardEvent): void {
    if (!ruler.peek() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.#anchors.length) this.forget();
      else ruler.value = false;
    }
    if (event.key === "Enter" && event.target === this.#canvas) {
      event.preventDefault();
      event.stopPropagation(); // or a hand would take hold
      this.#place(this.#canvas.clientWidth / 2, this.#canvas.clientHeight / 2);
    }
  }
}
