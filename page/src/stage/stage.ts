// The stage: takes scenes and frames, and draws when something has changed, at most once for each picture of the screen.

import { computed, effect } from "@preact/signals";
import { PerspectiveCamera, Vector3, type WebGLRenderer } from "three";

import type { FrameData, SceneData } from "../messages";
import type { Message } from "../packing";
import { frame, hello, notify, scene, send, stageActions, state, theme } from "../store";
import { Eye } from "./camera";
import { divide, viewAt, viewports, type Viewport } from "./layout";
import { LOOKS } from "./look";
import { outOfSight } from "./framing";
import { elements, hasElements, measured, outside, quality, ruler, wireframe } from "./options";
import { KeyboardHand } from "./keyboard_hand";
import { PaceMeter } from "./pace";
import { placeOf, rayThrough, type Hit } from "./picking";
import { Pointers } from "./pointers";
import { Quality, type Level } from "./quality";
import { lengthText, Ruler } from "./ruler";
import { Tools } from "./tools";
import { World, type Wish } from "./world";

const LOOKED_AT = 2000; // vertices of which the nearest to a place is looked for
const TRIED = 60; // of these, the nearest: rims and what is hidden are missed
const STILL = 2; // pixels of a still to one of CSS

/** What cloth is made of, by name. */
const fabric = computed(() => state.value?.settings.fabric ?? "");

export class Stage {
  readonly pace = new PaceMeter();
  readonly camera = new PerspectiveCamera(40, 1, 0.01, 100);
  readonly #canvas: HTMLCanvasElement;
  readonly #renderer: WebGLRenderer;
  readonly #world: World;
  readonly #pointers: Pointers;
  readonly #tools: Tools;
  readonly #eye: Eye;
  readonly #ruler: Ruler;
  readonly #quality: Quality;
  #pending: Message<FrameData> | null = null;
  #last: Message<FrameData> | null = null;
  #asked: number | null = null;
  #changed = true;
  #free = true;
  #views = 1;
  #shown = false;

  constructor(canvas: HTMLCanvasElement, renderer: WebGLRenderer, frugal: boolean) {
    this.#canvas = canvas;
    this.#quality = new Quality(window.devicePixelRatio, frugal, quality.peek());
    this.#world = new World(this.#wish());
    this.#renderer = renderer;
    renderer.autoClear = false;
    // First the pointers that hold, then the camera: a pointer that holds something must not turn the view as well.
    this.#pointers = new Pointers(canvas, {
      camera: this.camera,
      pick: (x, y, hovering) => this.#pick(x, y, hovering),
      position: (grip, view) => placeOf(grip, this.positions(view)),
      ordered: (order, time) => this.pace.ordered(order, time),
      // Nothing else would show where it is pulled to while the simulation is paused.
      redraw: () => this.#ask(!frugal || (state.value?.settings.paused ?? false)),
    });
    const keys = new KeyboardHand(canvas, this.#pointers, (x, y) => this.#near(x, y));
    stageActions.slipped = (pointer) => {
      this.#pointers.slipped(pointer);
      keys.slipped();
    };
    this.#tools = new Tools(canvas, {
      camera: this.camera,
      pick: (x, y) => this.#pickBody(x, y, false),
      positions: (view) => this.positions(view),
    });
    this.#eye = new Eye(this.camera, canvas, () => this.redraw());
    this.#ruler = new Ruler(canvas, {
      touch: (x, y) => {
        const viewport = viewports.value[viewAt(x, y)];
        return viewport && this.#shown ? this.#world.touch(rayThrough(x, y, viewport, this.camera), viewAt(x, y)) : null;
      },
      redraw: () => this.redraw(),
    });
    this.#world.scene.add(this.#ruler.group);
    new ResizeObserver(() => this.#resize()).observe(canvas.parentElement ?? canvas);
    this.#resize();
    effect(() => {
      if (quality.value !== this.#quality.choice) this.#quality.choose(quality.value);
      this.#dress();
      this.redraw();
    });
    hello.subscribe(() => this.pace.forget());
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // says that we can go on when it comes back
      notify("error", "The graphics context was lost; the picture stands still until the browser gives it back.");
    });
    canvas.addEventListener("webglcontextrestored", () => this.redraw());
    stageActions.still = () => this.#still();
    stageActions.home = () => this.#eye.home();
    stageActions.fit = () => this.#eye.fit(this.#world.boxOf(0));
    stageActions.look = (eye, target) => {
      this.#eye.stand(eye, target);
      this.redraw();
    };
    stageActions.camera = () => ({ eye: this.camera.position.toArray(), target: this.#eye.controls.target.toArray() });
  }

  /** Whether there is something to see. */
  get ready(): boolean {
    return this.#shown;
  }

  /** How much is drawn. */
  get level(): Level {
    return this.#quality.level;
  }

  positions(view = 0): Float32Array {
    return this.#world.positions(view);
  }

  scene(message: Message<SceneData>): void {
    this.#refuse();
    this.#world.load(message);
    this.#shown = false;
    this.#tools.load(message);
    // A body that was pinned or cut is the same scene: the person goes on looking from where they are.
    if (scene.value?.name === message.header.name) this.#eye.renew(message.header.camera, message.header.ground);
    else this.#eye.look(message.header.camera, message.header.ground);
    scene.value = message.header;
    hasElements.value = message.arrays.tets?.length > 0;
    this.#ruler.forget();
  }

  frame(message: Message<FrameData>): void {
    this.#refuse();
    this.#pending = message;
    if (message.header.scene !== scene.value?.scene) this.#refuse();
    else if (this.#free && !document.hidden) this.#picture(); // now, so that it is ready when the screen is
    else this.redraw();
  }

  redraw(): void {
    this.#ask(true);
  }

  /** Be called before the next picture; `changed`: and draw it. What a pointer does is seen in the next frame at the latest. */
  #ask(changed: boolean): void {
    this.#changed ||= changed;
    if (this.#asked !== null) return;
    this.#asked = performance.now();
    requestAnimationFrame(() => this.#picture());
  }

  /** Where a vertex is seen, in CSS pixels of the page. */
  project(vertex: number, view = 0): [number, number] {
    return this.seen([...this.positions(view).subarray(3 * vertex, 3 * vertex + 3)], view);
  }

  /** Where a place in the scene (m) is seen, in CSS pixels of the page. */
  seen(point: number[], view = 0): [number, number] {
    const place = new Vector3().fromArray(point).project(this.camera);
    const { x, y, width, height } = viewports.value[view] ?? viewports.value[0];
    const box = this.#canvas.getBoundingClientRect();
    return [box.left + x + ((place.x + 1) / 2) * width, box.top + y + ((1 - place.y) / 2) * height];
  }

  /** What a hand would take at a place of the page: a body, a thing that stands, or nothing. */
  under(x: number, y: number): "body" | "thing" | "" {
    const box = this.#canvas.getBoundingClientRect();
    const hit = document.elementFromPoint(x, y) === this.#canvas && this.#pick(x - box.left, y - box.top, false);
    return hit ? ("thing" in hit.grip ? "thing" : "body") : "";
  }

  /** How long a frame takes from its bytes to its pixels: the mean of so many, in ms. */
  time(draws: number): number {
    const message = this.#last;
    const gl = this.#renderer.getContext();
    const pixel = new Uint8Array(4);
    const start = performance.now();
    for (let k = 0; k < draws; k++) {
      if (message) this.#world.show(message);
      this.#draw();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // waits until all is drawn
    }
    return (performance.now() - start) / draws;
  }

  /** Draw the last frame with its own light: that at the vertices lags behind what moves, and takes a few frames. */
  settle(): void {
    this.#dress();
  }

  /** A frame that will not be drawn: said all the same, or no other would come. */
  #refuse(): void {
    if (this.#pending) send({ type: "drawn", frame: this.#pending.header.frame });
    this.#pending = null;
  }

  #picture(): void {
    const began = performance.now();
    this.#asked = null;
    this.#eye.update();
    this.#pointers.follow();
    const message = this.#pending;
    this.#pending = null;
    if (message) this.#show(message);
    if (this.#changed || message) this.#draw();
    this.#changed = false;
    if (message) {
      outside.value = outOfSight(this.#world.boxOf(0), this.camera);
      frame.value = message.header;
      this.#free = false;
      requestAnimationFrame(() => this.#taken(message.header, began));
    }
  }

  /** The browser has taken the picture and is ready for another; asked for before, frames would be old when shown. */
  #taken({ frame, orders }: FrameData, began: number): void {
    this.#free = true;
    if (this.#quality.measure(performance.now() - began)) this.#dress();
    send({ type: "drawn", frame });
    this.pace.drawn(orders[hello.value?.client ?? ""] ?? -1);
  }

  #show(message: Message<FrameData>): void {
    const views = Math.min(Math.max(message.header.views.length, 1), 2);
    this.#last = message;
    this.#world.show(message);
    if (views !== this.#views) {
      this.#views = views;
      this.#divide();
    }
    if (this.#shown) return;
    this.#shown = true;
    // The tree for picking takes a while; somebody who is quicker than an idle moment waits for it.
    const { picker } = this.#world;
    (window.requestIdleCallback ?? window.setTimeout)(() => picker?.prepare());
  }

  #draw(): void {
    const { height } = this.#canvas.getBoundingClientRect();
    const renderer = this.#renderer;
    const all = viewports.value;
    if (!all.length || !height) return;
    if (all.length > 1) {
      renderer.setScissorTest(false);
      renderer.setClearColor(LOOKS[theme.value].divider);
      renderer.clear(true, false, false);
    }
    for (const [k, { x, y, width, height: tall }] of all.entries()) {
      const place = [x, height - y - tall, width, tall] as const;
      renderer.setScissorTest(all.length > 1);
      renderer.setScissor(...place);
      renderer.setViewport(...place);
      const length = this.#ruler.follow(k, this.positions(k));
      this.#world.draw(renderer, this.camera, k, this.#pointers.all);
      if (length) this.#say(length, all[k]);
    }
  }

  /** Where the ruler's line is seen, and how long it is. */
  #say({ length, middle }: { length: number; middle: Vector3 }, { x, y, width, height }: Viewport): void {
    const place = middle.project(this.camera);
    const text = lengthText(length);
    const at = { x: Math.round(x + ((place.x + 1) / 2) * width), y: Math.round(y + ((1 - place.y) / 2) * height), text };
    const before = measured.peek();
    if (before?.x !== at.x || before.y !== at.y || before.text !== text) measured.value = at;
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas.parentElement ?? this.#canvas;
    if (!width || !height) return;
    this.#renderer.setSize(width, height, true);
    this.#divide();
    this.#dress();
  }

  /** What is to be seen, and how; read in an effect, it is asked for again when any of it changes. */
  #wish(): Wish {
    const shown = { wireframe: wireframe.value, elements: elements.value };
    return { theme: theme.value, level: this.#quality.level, fabric: fabric.value, ...shown };
  }

  /** Draw as is wished for, in the same task: a canvas of another size is empty, which would flicker. */
  #dress(wish = this.#wish()): void {
    this.#renderer.setPixelRatio(wish.level.ratio);
    this.#world.dress(wish);
    this.#ruler.dress(LOOKS[wish.theme], wish.level.ratio);
    this.#draw();
  }

  #divide(): void {
    const box = this.#canvas.getBoundingClientRect();
    viewports.value = divide(box.width, box.height, this.#views);
    this.#eye.shape(viewports.value[0].width / viewports.value[0].height);
    this.redraw();
  }

  /** What a hand can take at a place: of a body, or a thing that stands. */
  #pick(x: number, y: number, hovering: boolean): Hit | null {
    const view = viewAt(x, y);
    const viewport = viewports.value[view];
    if (!viewport || !this.#shown || ruler.peek()) return null; // a ruler takes hold of nothing
    return this.#world.take(rayThrough(x, y, viewport, this.camera), view, this.#pickBody(x, y, hovering));
  }

  #pickBody(x: number, y: number, hovering: boolean): Hit | null {
    const view = viewAt(x, y);
    const viewport = viewports.value[view];
    const { picker } = this.#world;
    if (!picker || !viewport || !this.#shown || ruler.peek()) return null;
    return picker.pick(rayThrough(x, y, viewport, this.camera), view, this.camera, viewport, hovering);
  }

  /** The place itself, if a body is seen there, or that of the nearest vertex that is. */
  #near(x: number, y: number): [number, number] {
    const seen = (place: [number, number]) => {
      const hit = this.#pick(...place, true);
      return hit !== null && !("thing" in hit.grip); // somebody who begins to aim means the body, not the table under it
    };
    if (seen([x, y])) return [x, y];
    const count = this.positions().length / 3;
    const box = this.#canvas.getBoundingClientRect();
    const places = Array.from({ length: Math.min(count, LOOKED_AT) }, (_, k): [number, number] => {
      const [left, top] = this.project(Math.floor((k * count) / Math.min(count, LOOKED_AT)));
      return [left - box.left, top - box.top];
    });
    places.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
    return places.slice(0, TRIED).find(seen) ?? [x, y];
  }

  #still(): void {
    const wish = this.#wish();
    this.#dress({ ...wish, level: { ...wish.level, ratio: STILL } }); // the browser keeps what was drawn only until the task ends
    this.#canvas.toBlob((blob) => {
      if (!blob) return notify("error", "The browser could not make a picture.");
      const time = new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-");
      const anchor = document.createElement("a");
      anchor.href = URL.createObjectURL(blob);
      anchor.download = `vivace-${scene.value?.name ?? "still"}-${time}.png`;
      anchor.click();
      window.setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
    }, "image/png");
    this.#dress();
  }
}
