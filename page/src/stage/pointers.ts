// Pointers (a mouse, fingers) that hold a vertex, a point of a rigid body or a thing that stands; one that misses all of them is
// left to the camera.

import { type PerspectiveCamera, Plane, Ray, Vector3 } from "three";

import { link, scene, send } from "../store";
import { viewAt, viewports } from "./layout";
import { rayThrough, type Grip, type Hit, type ThingGrip } from "./picking";

const MOST_POINTERS = 10;
const HOVER = 100; // ms between two looks at what the pointer is over
const EARLIEST = 12; // ms between two orders of a pointer: as often as a display shows them
const DEPTH = 0.001; // of the depth, for each pixel of the wheel
const KEYBOARD = -1; // where there are the numbers of pointers: what keys hold

export interface HoldingPointer {
  /** Tells several pointers apart, 0 to 9. */
  readonly pointer: number;
  readonly grip: Grip | ThingGrip;
  readonly view: number;
  readonly target: Vector3;
}

interface Holding extends HoldingPointer {
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
  /** Where a grip is seen now. */
  position(grip: Grip | ThingGrip, view: number): Vector3;
  /** An order went out that answers a pointer's event of that time. */
  ordered(order: number, time: number): void;
  redraw(): void;
}

export class Pointers {
  readonly #canvas: HTMLCanvasElement;
  readonly #around: Surroundings;
  readonly #holding = new Map<number, Holding>();
  #order = 0;
  #hovered = -Infinity;

  constructor(canvas: HTMLCanvasElement, around: Surroundings) {
    this.#canvas = canvas;
    this.#around = around;
    canvas.style.touchAction = "none";
    // Before the camera's own listeners, which must not see what a holding pointer does.
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

  get all(): Iterable<HoldingPointer> {
    return this.#holding.values();
  }

  get busy(): boolean {
    return this.#holding.size > 0;
  }

  /** Send where the pointers have gone since the last time. */
  follow(): void {
    for (const holding of this.#holding.values()) {
      if (!holding.moved) continue;
      holding.moved = false;
      holding.target.copy(this.#onPlane(holding)).add(holding.offset);
      const order = ++this.#order;
      this.#around.ordered(order, holding.time);
      send({ type: "drag", pointer: holding.pointer, target: holding.target.toArray(), order });
    }
  }

  #down(event: PointerEvent): void {
    const number = this.#free();
    if (event.button !== 0 || event.shiftKey || event.ctrlKey || number === null || link.value !== "open") return;
    const [x, y] = this.#place(event);
    const hit = scene.value && this.#around.pick(x, y, false);
    if (!hit) {
      this.#cursor(this.#holding.size ? "grabbing" : "move");
      return;
    }
    event.stopImmediatePropagation();
    this.#canvas.setPointerCapture(event.pointerId);
    this.#take(event.pointerId, number, hit, x, y, event.timeStamp);
    this.#cursor("grabbing");
  }

  #take(id: number, number: number, hit: Hit, x: number, y: number, time: number): void {
    const shown = scene.value;
    if (!shown) return;
    const view = viewAt(x, y);
    const { vertex, grip } = hit;
    const target = this.#around.position(grip, view);
    const held: Holding = {
      pointer: number, grip, view, target, x, y, time, moved: false, depth: this.#depthOf(target), offset: new Vector3(),
    };
    held.offset.copy(target).sub(this.#onPlane(held));
    this.#holding.set(id, held);
    const order = ++this.#order;
    this.#around.ordered(order, time);
    const exact = "thing" in grip ? { thing: grip.thing } : vertex >= shown.soft ? grip : {};
    send({ type: "grab", pointer: number, vertex, target: target.toArray(), scene: shown.scene, order, ...exact });
    this.#around.redraw();
  }

  // --- without a pointer: what keys hold, see keyboard_hand.ts --------------------------------------------------------

  get heldByKeys(): boolean {
    return this.#holding.has(KEYBOARD);
  }

  /** Take hold of what is at a place on the stage (CSS pixels); whether there was anything. */
  takeAt(x: number, y: number, time: number): boolean {
    const number = this.#free();
    const hit = number === null || link.value !== "open" ? null : this.#around.pick(x, y, false);
    if (!hit || number === null) return false;
    this.#take(KEYBOARD, number, hit, x, y, time);
    return true;
  }

  /** Pull what keys hold by so many pixels across the view, and nearer or farther by a factor. */
  pullBy(x: number, y: number, nearer: number, time: number): void {
    const holding = this.#holding.get(KEYBOARD);
    if (!holding) return;
    holding.x += x;
    holding.y += y;
    holding.depth *= nearer;
    holding.time = time;
    holding.moved = true;
    this.#around.redraw();
  }

  letGoByKeys(): void {
    const holding = this.#holding.get(KEYBOARD);
    if (!holding) return;
    this.follow();
    this.#forget(KEYBOARD, holding);
  }

  /** The server says that what this pointer held has slipped. */
  slipped(pointer: number): void {
    for (const [id, holding] of this.#holding) if (holding.pointer === pointer) this.#forget(id, holding);
    if (!this.busy) this.#cursor("");
  }

  #forget(id: number, holding: Holding): void {
    this.#holding.delete(id);
    // After a slip too: if it was held again meanwhile, both sides let go of that.
    send({ type: "release", pointer: holding.pointer, order: ++this.#order });
    this.#around.redraw();
  }

  #move(event: PointerEvent): void {
    const holding = this.#holding.get(event.pointerId);
    if (!holding) {
      this.#hover(event);
      return;
    }
    event.stopPropagation();
    const [x, y] = this.#place(event);
    if (x === holding.x && y === holding.y) return; // sent already
    [holding.x, holding.y] = [x, y];
    holding.time = event.timeStamp;
    holding.moved = true;
    this.#around.redraw();
  }

  #early(event: PointerEvent): void {
    const holding = this.#holding.get(event.pointerId);
    if (!holding || event.timeStamp - holding.time < EARLIEST) return;
    [holding.x, holding.y] = this.#place(event);
    holding.time = event.timeStamp;
    holding.moved = true;
    this.follow();
  }

  #up(event: PointerEvent): void {
    const holding = this.#holding.get(event.pointerId);
    if (!holding) {
      if (event.type === "pointerup" && !this.busy) this.#cursor("");
      return;
    }
    event.stopPropagation();
    this.follow(); // where it let go, not where it was a picture ago
    this.#forget(event.pointerId, holding);
    this.#cursor(this.busy ? "grabbing" : event.pointerType === "mouse" ? "grab" : "");
  }

  #wheel(event: WheelEvent): void {
    if (!this.busy) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
    for (const holding of this.#holding.values()) {
      holding.depth *= Math.exp(-DEPTH * Math.max(-300, Math.min(300, pixels)));
      holding.time = event.timeStamp;
      holding.moved = true;
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
    for (const holding of this.#holding.values()) send({ type: "release", pointer: holding.pointer, order: ++this.#order });
    this.#holding.clear();
    this.#cursor("");
    this.#around.redraw();
  }

  #onPlane(holding: Holding): Vector3 {
    const { camera } = this.#around;
    const forward = camera.getWorldDirection(new Vector3());
    const through = camera.position.clone().addScaledVector(forward, holding.depth);
    const plane = new Plane().setFromNormalAndCoplanarPoint(forward, through);
    const ray: Ray = rayThrough(holding.x, holding.y, viewports.value[holding.view] ?? viewports.value[0], camera);
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
    const taken = new Set([...this.#holding.values()].map(({ pointer }) => pointer));
    for (let pointer = 0; pointer < MOST_POINTERS; pointer++) if (!taken.has(pointer)) return pointer;
    return null;
  }

  #cursor(name: string): void {
    if (this.#canvas.style.cursor !== name) this.#canvas.style.cursor = name;
  }
}
