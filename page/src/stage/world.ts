// Everything that is drawn of one scene, and how it is lit.

import { Box3, Quaternion, Scene, Vector3, type PerspectiveCamera, type WebGLRenderer } from "three";

import type { FrameData, SceneData } from "../messages";
import { array, type Message } from "../packing";
import { Backdrop } from "./backdrop";
import { Body } from "./body";
import { Ghost } from "./ghost";
import type { Theme } from "./colours";
import { KEY, LOOKS } from "./look";
import { Picker } from "./picking";
import type { HoldingPointer } from "./pointers";
import { Scenery } from "./scenery";
import { Shade, type GroundFrame } from "./shade";
import { Strings } from "./strings";

const VIEWS = 2;
const GROUND_REACH = 4; // in distances of the scene's own view
const SHADED = 1.5; // of the ground around the scene, likewise
const SHADOW_PAUSE = 45; // ms
const MUCH_LARGER = 4; // scenery so many times the bodies' size keeps its shadow to itself

export class World {
  readonly scene = new Scene();
  readonly #backdrop = new Backdrop();
  readonly #strings = new Strings();
  readonly #shades = Array.from({ length: VIEWS }, () => new Shade());
  readonly #stale = new Array<boolean>(VIEWS).fill(true);
  readonly #castAt = new Array<number>(VIEWS).fill(-Infinity);
  readonly #up = new Vector3(0, 1, 0);
  readonly #key = KEY.clone();
  #ground: GroundFrame | null = null;
  /** What rolls out of it casts no shadow, or the others' would be spread over all of its way. */
  readonly #shaded = new Box3();
  #bodies: Body[] = [];
  readonly #ghost = new Ghost();
  #scenery: Scenery | null = null;
  readonly #frugal: boolean;
  #theme: Theme = "light";
  #pixel = 1;
  picker: Picker | null = null;

  /** `frugal`: the processor draws, for which a backdrop costs as much as the bodies; it gets a plain one. */
  constructor(frugal: boolean) {
    this.scene.matrixWorldAutoUpdate = true;
    this.#frugal = frugal;
    this.#backdrop.mesh.visible = !frugal;
    this.scene.add(this.#backdrop.mesh, ...this.#shades.map((shade) => shade.mesh), this.#strings.group, this.#ghost.mesh);
    this.dress("light", 1);
  }

  /** Another scene; where things are comes with its first frame. */
  load(message: Message<SceneData>): void {
    this.unload();
    const { camera, ground } = message.header;
    this.#up.fromArray(camera.up).normalize();
    this.#key.copy(KEY).applyQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), this.#up));
    const target = new Vector3().fromArray(camera.target);
    const distance = target.distanceTo(new Vector3().fromArray(camera.eye));
    if (ground !== null) target.addScaledVector(this.#up, ground - target.dot(this.#up));
    this.#backdrop.place(target, this.#up, ground === null ? 0 : GROUND_REACH * distance);
    this.#ground = ground === null ? null : this.#frameAt(target);
    this.#shaded.setFromCenterAndSize(target, new Vector3().setScalar(2 * SHADED * distance));
    this.#ghost.load(message);
    this.#scenery = Scenery.of(message);
    if (this.#scenery) this.scene.add(this.#scenery.mesh);
    this.#bodies = Array.from({ length: VIEWS }, () => new Body(message));
    for (const body of this.#bodies) this.scene.add(body.group);
    this.picker = new Picker(
      array(message, "triangles", Uint32Array),
      this.#bodies.map((body) => body.positions),
      {
        soft: message.header.soft,
        immovable: array(message, "immovable", Uint32Array),
        wires: array(message, "edges", Uint32Array) !== null,
      },
    );
    this.dress(this.#theme, this.#pixel);
  }

  unload(): void {
    for (const body of this.#bodies) {
      this.scene.remove(body.group);
      body.dispose();
    }
    if (this.#scenery) this.scene.remove(this.#scenery.mesh);
    this.#scenery?.dispose();
    this.#scenery = null;
    this.#bodies = [];
    this.picker = null;
  }

  show(message: Message<FrameData>): void {
    this.#ghost.show(message);
    for (let k = 0; k < Math.min(message.header.views.length, this.#bodies.length); k++) {
      this.#bodies[k].show(message, k);
      this.#stale[k] = true;
    }
  }

  /** Colours of a theme, and marks of a size: `pixel` is a CSS pixel in those of the canvas. */
  dress(theme: Theme, pixel: number): void {
    this.#theme = theme;
    this.#pixel = pixel;
    const look = LOOKS[theme];
    this.#backdrop.dress(look);
    this.#ghost.dress(theme);
    for (const shade of this.#shades) shade.dress(look);
    this.#strings.dress(look, pixel);
    this.#scenery?.dress(look, this.#up, this.#key);
    for (const body of this.#bodies) body.dress(look, theme, this.#up, this.#key, pixel);
  }

  positions(view: number): Float32Array {
    return this.#bodies[view]?.positions ?? new Float32Array(0);
  }

  /** Draw view `k` where the renderer's viewport is. */
  draw(renderer: WebGLRenderer, camera: PerspectiveCamera, k: number, pointers: Iterable<HoldingPointer>): void {
    this.#bodies.forEach((body, other) => (body.group.visible = other === k));
    this.#strings.tie(pointers, this.positions(k));
    this.#shades.forEach((shade, other) => (shade.mesh.visible = this.#ground !== null && other === k));
    if (this.#ground && this.#bodies[k] && this.#isStale(k)) this.#shadow(k, this.#ground);
    if (this.#frugal) renderer.setClearColor(LOOKS[this.#theme].plain);
    renderer.clear(this.#frugal, true, false); // a backdrop covers every pixel
    renderer.render(this.scene, camera);
  }

  /** A shadow this soft may lag behind by a frame. */
  #isStale(k: number): boolean {
    return this.#stale[k] && performance.now() - this.#castAt[k] > SHADOW_PAUSE;
  }

  #shadow(k: number, ground: GroundFrame): void {
    this.#stale[k] = false;
    this.#castAt[k] = performance.now();
    const body = this.#bodies[k];
    const box = body.box.clone().intersect(this.#shaded);
    if (box.isEmpty()) return;
    const size = box.getSize(new Vector3()).length();
    const standing = this.#scenery;
    const near = standing !== null && standing.box.getSize(new Vector3()).length() < MUCH_LARGER * size;
    if (near) box.union(standing.box);
    this.#shades[k].cast(body, near ? standing.caster : null, box, ground);
  }

  #frameAt(origin: Vector3): GroundFrame {
    const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), this.#up);
    const right = new Vector3(1, 0, 0).applyQuaternion(turn);
    const ahead = new Vector3(0, 1, 0).applyQuaternion(turn);
    return { origin, right, ahead, up: this.#up, key: this.#key };
  }
}
