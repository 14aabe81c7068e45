// The stage: takes scenes and frames, and draws when something has changed, at most once for each picture of the screen.

import { effect } from "@preact/signals";
import { PerspectiveCamera, Vector3, type WebGLRenderer } from "three";

import type { FrameData, SceneData } from "../messages";
import type { Message } from "../packing";
import { frame, hello, notify, scene, send, stageActions, state, theme } from "../store";
import { Eye } from "./camera";
import { divide, viewAt, viewports } from "./layout";
import { LOOKS } from "./look";
import { KeyboardHand } from "./keyboard_hand";
import { PaceMeter, Sharpness } from "./pace";
import { placeOf, rayThrough, type Hit } from "./picking";
import { Pointers } from "./pointers";
import { Tools } from "./tools";
import { World } from "./world";

const LOOKED_AT = 2000; // vertices of which the nearest to a place is looked for
const TRIED = 60; // of these, the nearest: rims and what is hidden are missed
const STILL = 2; // pixels of a still to one of CSS

export class Stage {
  readonly pace = new PaceMeter();
  readonly camera = new PerspectiveCamera(40, 1, 0.01, 100);
  readonly #canvas: HTMLCanvasElement;
  readonly #renderer: WebGLRenderer;
  readonly #world: World;
  readonly #pointers: Pointers;
  readonly #tools: Tools;
  readonly #eye: Eye;
  readonly #sharpness: Sharpness;
  #pending: Message<FrameData> | null = null;
  #asked: number | null = null;
  #changed = true;
  #free = true;
  #views = 1;
  #shown = false;

  constructor(canvas: HTMLCanvasElement, renderer: WebGLRenderer, frugal: boolean) {
    this.#canvas = canvas;
    this.#world = new World(frugal);
    this.#sharpness = new Sharpness(window.devicePixelRatio, frugal);
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
      pick: (x, y) => this.#pick(x, y, false),
      positions: (view) => this.positions(view),
    });
    this.#eye = new Eye(this.camera, canvas, () => this.redraw());
    new ResizeObserver(() => this.#resize()).observe(canvas.parentElement ?? canvas);
    this.#resize();
    effect(() => {
      this.#world.dress(theme.value, this.#sharpness.ratio);
      this.redraw();
    });
    hello.subscribe(() => this.pace.forget());
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // says that we can go on when it comes back
      notify("error", "The graphics context was lost; the picture stands still until the browser gives it back.");
    });
    canvas.addEventListener("webglcontextrestored", () => this.redraw());
    stageActions.still = () => this.#still();
    stageActions.home = () => {
      this.#eye.home();
      this.redraw();
    };
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

  positions(view = 0): Float32Array {
    return this.#world.positions(view);
  }

  scene(message: Message<SceneData>): void {
    this.#refuse();
    this.#world.load(message);
    this.#shown = false;
    this.#tools.load(message);
    // A body that was pinned or cut is the same scene: the person goes on looking from where they are.
    if (scene.value?.name === message.header.name) this.#eye.renew(message.header.camera);
    else this.#eye.look(message.header.camera);
    scene.value = message.header;
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
    const place = new Vector3().fromArray(this.positions(view), 3 * vertex).project(this.camera);
    const { x, y, width, height } = viewports.value[view] ?? viewports.value[0];
    const box = this.#canvas.getBoundingClientRect();
    return [box.left + x + ((place.x + 1) / 2) * width, box.top + y + ((1 - place.y) / 2) * height];
  }

  /** A frame that will not be drawn: said all the same, or no other would come. */
  #refuse(): void {
    if (this.#pending) send({ type: "drawn", frame: this.#pending.header.frame });
    this.#pending = null;
  }

  #picture(): void {
    const waited = this.#asked === null ? 0 : performance.now() - this.#asked;
    this.#asked = null;
    this.#eye.update();
    this.#pointers.follow();
    const message = this.#pending;
    this.#pending = null;
    if (message) this.#show(message);
    if (this.#changed || message) this.#draw();
    this.#changed = false;
    if (message) {
      frame.value = message.header;
      this.#free = false;
      requestAnimationFrame(() => this.#taken(message.header));
    }
    if (this.#sharpness.measure(waited)) this.#sharpen(this.#sharpness.ratio);
  }

  /** The browser has taken the picture and is ready for another; asked for before, frames would be old when shown. */
  #taken({ frame, orders }: FrameData): void {
    this.#free = true;
    send({ type: "drawn", frame });
    this.pace.drawn(orders[hello.value?.client ?? ""] ?? -1);
  }

  #show(message: Message<FrameData>): void {
    const views = Math.min(Math.max(message.header.views.length, 1), 2);
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
      this.#world.draw(renderer, this.camera, k, this.#pointers.all);
    }
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas.parentElement ?? this.#canvas;
    if (!width || !height) return;
    this.#renderer.setSize(width, height, true);
    this.#divide();
    this.#sharpen(this.#sharpness.ratio);
  }

  /** Draw with so many pixels to one of CSS; in the same task, since an emptied canvas would flicker. */
  #sharpen(ratio: number): void {
    this.#renderer.setPixelRatio(ratio);
    this.#world.dress(theme.value, ratio);
    this.#draw();
  }

  #divide(): void {
    const box = this.#canvas.getBoundingClientRect();
    viewports.value = divide(box.width, box.height, this.#views);
    this.#eye.shape(viewports.value[0].width / viewports.value[0].height);
    this.redraw();
  }

  #pick(x: number, y: number, hovering: boolean): Hit | null {
    const view = viewAt(x, y);
    const viewport = viewports.value[view];
    const { picker } = this.#world;
    if (!picker || !viewport || !this.#shown) return null;
    return picker.pick(rayThrough(x, y, viewport, this.camera), view, this.camera, viewport, hovering);
  }

  /** The place itself, if a body is seen there, or that of the nearest vertex that is. */
  #near(x: number, y: number): [number, number] {
    if (this.#pick(x, y, true)) return [x, y];
    const count = this.positions().length / 3;
    const box = this.#canvas.getBoundingClientRect();
    const places = Array.from({ length: Math.min(count, LOOKED_AT) }, (_, k): [number, number] => {
      const [left, top] = this.project(Math.floor((k * count) / Math.min(count, LOOKED_AT)));
      return [left - box.left, top - box.top];
    });
    places.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
    return places.slice(0, TRIED).find((place) => this.#pick(...place, true)) ?? [x, y];
  }

  #still(): void {
    this.#sharpen(STILL); // the browser keeps what was drawn only until the task ends
    this.#canvas.toBlob((blob) => {
      if (!blob) return notify("error", "The browser could not make a picture.");
      const time = new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-");
      const anchor = document.createElement("a");
      anchor.href = URL.createObjectURL(blob);
      anchor.download = `vivace-${scene.value?.name ?? "still"}-${time}.png`;
      anchor.click();
      window.setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
    }, "image/png");
    this.#sharpen(this.#sharpness.ratio);
  }
}
