// Pointers that hold a vertex. Each is a hand of its own; one that misses the bodies is left to the camera.

import { type PerspectiveCamera, Plane, Ray, Vector3 } from "three";

import { link, scene, send } from "../store";
import { viewAt, viewports } from "./layout";
import { rayThrough, type Hit } from "./picking";

const HANDS = 10;
const HOVER = 100; // ms between two looks at what the pointer is over
const EARLIEST = 12; // ms between two orders of a hand: as often as a display shows them
const DEPTH = 0.001; // of the depth, for each pixel of the wheel

export interface Hand {
  readonly hand: number;
  readonly vertex: number;
  readonly view: number;
  readonly target: Vector3;
}

interface Holding extends Hand {
  x: number;
  y: number;
  /** When the pointer was there. */
  time: number;
  moved: boolean;
  /** Of the plane that the target moves in, along the view; the wheel changes it. */
  depth: number;
  /** From where the pointer is on that plane to the target: one takes a vertex beside its middle. */
  readonly offset: Vector3;
}

interface Surroundings {
  camera: PerspectiveCamera;
  pick(x: number, y: number, hovering: boolean): Hit | null;
  /** Where a vertex is seen now. */
  position(vertex: number, view: number): Vector3;
  /** An order went out that answers a pointer's event of that time. */
  ordered(order: number, time: number): void;
  redraw(): void;
}

export class Hands {
  readonly #canvas: HTMLCanvasElement;
  readonly #around: Surroundings;
  readonly #holding = new Map<number, Holding>();
  #order = 0;
  #hovered = -Infinity;

  constructor(canvas: HTMLCanvasElement, around: Surroundings) {
    this.#canvas = canvas;
    this.#around = around;
    canvas.style.touchAction = "none";
    // Before the camera's own listeners, which must not see what a hand does.
    const first = { capture: true };
    canvas.addEventListener("pointerdown", (event) => this.#down(event), first);
    canvas.addEventListener("pointermove", (event) => this.#move(event), first);
    // Where there is such an event, it does not wait for the next picture.
    canvas.addEventListener("pointerrawupdate", (event) => this.#early(event as PointerEvent), first);
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      canvas.addEventListener(end, (event) => this.#up(event), first);
    }
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { capture: true, passive: false });
    link.subscribe((now) => {
      if (now !== "open") this.#drop();
    });
    scene.subscribe(() => this.#drop());
  }

  get all(): Iterable<Hand> {
    return this.#holding.values();
  }

  get busy(): boolean {
    return this.#holding.size > 0;
  }

  /** Send where the hands have gone since the last time. */
  follow(): void {
    for (const hand of this.#holding.values()) {
      if (!hand.moved) continue;
      hand.moved = false;
      hand.target.copy(this.#onPlane(hand)).add(hand.offset);
      const order = ++this.#order;
      this.#around.ordered(order, hand.time);
      send({ type: "drag", hand: hand.hand, target: hand.target.toArray(), order });
    }
  }

  #down(event: PointerEvent): void {
    const number = this.#free();
    if (event.button !== 0 || event.shiftKey || event.ctrlKey || number === null || link.value !== "open") return;
    const shown = scene.value;
    const [x, y] = this.#place(event);
    const hit = shown && this.#around.pick(x, y, false);
    if (!shown || !hit) {
      this.#cursor(this.#holding.size ? "grabbing" : "move");
      return;
    }
    event.stopImmediatePropagation();
    this.#canvas.setPointerCapture(event.pointerId);
    const view = viewAt(x, y);
    const target = this.#around.position(hit.vertex, view);
    const held: Holding = {
      hand: number, vertex: hit.vertex, view, target, x, y,
      time: event.timeStamp, moved: false, depth: this.#depthOf(target), offset: new Vector3(),
    };
    held.offset.copy(target).sub(this.#onPlane(held));
    this.#holding.set(event.pointerId, held);
    const order = ++this.#order;
    this.#around.ordered(order, event.timeStamp);
    send({ type: "grab", hand: number, vertex: hit.vertex, target: target.toArray(), scene: shown.scene, order });
    this.#cursor("grabbing");
    this.#around.redraw();
  }

  #move(event: PointerEvent): void {
    const hand = this.#holding.get(event.pointerId);
    if (!hand) {
      this.#hover(event);
      return;
    }
    event.stopPropagation();
    const [x, y] = this.#place(event);
    if (x === hand.x && y === hand.y) return; // sent already
    [hand.x, hand.y] = [x, y];
    hand.time = event.timeStamp;
    hand.moved = true;
    this.#around.redraw();
  }

  #early(event: PointerEvent): void {
    const hand = this.#holding.get(event.pointerId);
    if (!hand || event.timeStamp - hand.time < EARLIEST) return;
    [hand.x, hand.y] = this.#place(event);
    hand.time = event.timeStamp;
    hand.moved = true;
    this.follow();
  }

  #up(event: PointerEvent): void {
    const hand = this.#holding.get(event.pointerId);
    if (!hand) {
      if (event.type === "pointerup" && !this.busy) this.#cursor("");
      return;
    }
    event.stopPropagation();
    this.follow(); // where it let go, not where it was a picture ago
    this.#holding.delete(event.pointerId);
    send({ type: "release", hand: hand.hand, order: ++this.#order });
    this.#cursor(this.busy ? "grabbing" : event.pointerType === "mouse" ? "grab" : "");
    this.#around.redraw();
  }

  #wheel(event: WheelEvent): void {
    if (!this.busy) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
    for (const hand of this.#holding.values()) {
      hand.depth *= Math.exp(-DEPTH * Math.max(-300, Math.min(300, pixels)));
      hand.time = event.timeStamp;
      hand.moved = true;
    }
    this.#around.redraw();
  }

  #hover(event: PointerEvent): void {
    if (event.buttons || event.pointerType !== "mouse" || event.timeStamp - this.#hovered < HOVER) return;
    this.#hovered = event.timeStamp;
    const [x, y] = this.#place(event);
    this.#cursor(this.#around.pick(x, y, true) ? "grab" : "");
  }

  /** Nobody listens any more, or the vertices are others. */
  #drop(): void {
    if (!this.busy) return;
    for (const hand of this.#holding.values()) send({ type: "release", hand: hand.hand, order: ++this.#order });
    this.#holding.clear();
    this.#cursor("");
    this.#around.redraw();
  }

  #onPlane(hand: Holding): Vector3 {
    const { camera } = this.#around;
    const forward = camera.getWorldDirection(new Vector3());
    const through = camera.position.clone().addScaledVector(forward, hand.depth);
    const plane = new Plane().setFromNormalAndCoplanarPoint(forward, through);
    const ray: Ray = rayThrough(hand.x, hand.y, viewports.value[hand.view] ?? viewports.value[0], camera);
    return ray.intersectPlane(plane, new Vector3()) ?? through;
  }

  #depthOf(point: Vector3): number {
    const { camera } = this.#around;
    return point.clone().sub(camera.position).dot(camera.getWorldDirection(new Vector3()));
  }

  #place(event: MouseEvent): [number, number] {
    const box = this.#canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #free(): number | null {
    const taken = new Set([...this.#holding.values()].map((hand) => hand.hand));
    for (let hand = 0; hand < HANDS; hand++) if (!taken.has(hand)) return hand;
    return null;
  }

  #cursor(name: string): void {
    if (this.#canvas.style.cursor !== name) this.#canvas.style.cursor = name;
  }
}
