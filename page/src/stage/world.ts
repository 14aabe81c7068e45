// Everything that is drawn of one scene, and how it is lit.

import { Box3, Plane, Quaternion, type Ray, Raycaster, Scene, Vector3, type PerspectiveCamera, type WebGLRenderer } from "three";

import type { FrameData, SceneData } from "../messages";
import { array, type Message } from "../packing";
import { Backdrop } from "./backdrop";
import { Body } from "./body";
import { Ghost } from "./ghost";
import type { Theme } from "./colours";
import { fabricLook } from "./fabrics";
import { Ground } from "./ground";
import { aimed, Heights, type GroundFrame } from "./heights";
import { Light } from "./light";
import { LightMap } from "./lightmap";
import { KEY, LOOKS } from "./look";
import { Picker, type Hit } from "./picking";
import type { HoldingPointer } from "./pointers";
import type { Level } from "./quality";
import type { Anchor } from "./ruler";
import { Scenery } from "./scenery";
import { Strings } from "./strings";
import { setShifts } from "./things";

const VIEWS = 2;
const GROUND_REACH = 4; // in distances of the scene's own view
const SHADED = 1.5; // of the ground around the scene, likewise
const MUCH_LARGER = 4; // scenery so many times the bodies' size keeps its shadow to itself
const MIXED = 0.4; // of the light at a vertex is what it was before, so that it does not flicker

export interface Wish {
  theme: Theme;
  level: Level;
  /** By name; "" for what the scene has. */
  fabric: string;
  wireframe: boolean;
  elements: boolean;
}

/** What one view's light sees; nothing is made before it is needed. */
interface Shadows {
  heights: Heights | null;
  map: LightMap | null;
  ground: Ground;
  stale: boolean;
  at: number;
}

export class World {
  readonly scene = new Scene();
  readonly #light = new Light();
  readonly #backdrop = new Backdrop();
  readonly #strings = new Strings();
  readonly #shadows: Shadows[];
  readonly #up = new Vector3(0, 1, 0);
  readonly #key = KEY.clone();
  #frame: GroundFrame = this.#frameAt(new Vector3());
  #grounded = false;
  /** What rolls out of it casts no shadow, or the others' would be spread over all of its way. */
  readonly #shaded = new Box3();
  #bodies: Body[] = [];
  readonly #ghost = new Ghost();
  #scenery: Scenery | null = null;
  #wish: Wish;
  picker: Picker | null = null;

  constructor(wish: Wish) {
    this.#wish = wish;
    this.scene.matrixWorldAutoUpdate = true;
    this.#shadows = Array.from({ length: VIEWS }, () => ({
      heights: null, map: null, ground: new Ground(this.#light), stale: true, at: -Infinity,
    }));
    this.scene.add(this.#backdrop.mesh, ...this.#shadows.map(({ ground }) => ground.mesh), this.#strings.group, this.#ghost.mesh);
    this.dress(wish);
  }

  /** Around what is shown of a view; empty where nothing is. */
  boxOf(view: number): Box3 {
    return this.#bodies[view]?.box.clone() ?? new Box3();
  }

  /** Another scene; where things are comes with its first frame. */
  load(message: Message<SceneData>): void {
    this.unload();
    const { camera, ground } = message.header;
    this.#up.fromArray(camera.up).normalize();
    this.#key.copy(KEY).applyQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), this.#up));
    const target = new Vector3().fromArray(camera.target);
    const distance = target.distanceTo(new Vector3().fromArray(camera.eye));
    this.#grounded = ground !== null;
    target.addScaledVector(this.#up, ground === null ? -distance : ground - target.dot(this.#up));
    this.#backdrop.place(target, this.#up, ground === null ? 0 : GROUND_REACH * distance);
    this.#frame = this.#frameAt(target);
    this.#shaded.setFromCenterAndSize(target, new Vector3().setScalar(2 * SHADED * distance));
    this.#ghost.load(message);
    setShifts([]);
    this.#scenery = Scenery.of(message, this.#light);
    if (this.#scenery) this.scene.add(this.#scenery.mesh);
    this.#bodies = Array.from({ length: VIEWS }, () => new Body(message, this.#light));
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
    this.dress(this.#wish);
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
    if (setShifts(message.header.things)) this.#scenery?.move();
    for (let k = 0; k < Math.min(message.header.views.length, this.#bodies.length); k++) {
      this.#bodies[k].show(message, k);
      this.#shadows[k].stale = true;
    }
  }

  /** What a ray meets first that hands can take: of a body, as the picker says, or a thing that stands. */
  take(ray: Ray, view: number, hit: Hit | null): Hit | null {
    const blocked = hit ?? this.picker?.touch(ray, view) ?? null; // what follows a path hides what is behind it
    return this.#scenery?.pick(ray, blocked ? blocked.point.distanceTo(ray.origin) : Infinity) ?? hit;
  }

  /** What a ray meets first: a body, what stands, or the ground. */
  touch(ray: Ray, view: number): Anchor | null {
    const found: Anchor[] = [];
    const body = this.picker?.touch(ray, view);
    if (body) found.push({ view, ...body });
    const caster = new Raycaster(ray.origin, ray.direction);
    const [standing] = this.#scenery ? caster.intersectObject(this.#scenery.mesh, false) : [];
    if (standing) found.push({ view, grip: null, point: standing.point });
    const { up, origin } = this.#frame;
    const ground = this.#grounded ? ray.intersectPlane(new Plane().setFromNormalAndCoplanarPoint(up, origin), new Vector3()) : null;
    if (ground) found.push({ view, grip: null, point: ground });
    const away = ({ point }: Anchor) => point.distanceTo(ray.origin);
    return found.sort((a, b) => away(a) - away(b))[0] ?? null;
  }

  /** Colours of a theme, threads of a fabric, and as much of everything as the level allows. */
  dress(wish: Wish): void {
    this.#wish = wish;
    const { theme, level } = wish;
    const look = LOOKS[theme];
    this.#light.dress(look, this.#up, this.#key);
    this.#backdrop.dress(look);
    this.#ghost.dress(theme);
    this.#backdrop.mesh.visible = level.backdrop;
    for (const shadow of this.#shadows) {
      shadow.ground.dress(look);
      shadow.ground.refine(level.fine);
      shadow.stale = true;
      shadow.at = -Infinity;
    }
    this.#strings.dress(look, level.ratio);
    this.#scenery?.dress(look, level.fine);
    const dress = { ...wish, look, fabric: fabricLook(wish.fabric), pixel: level.ratio };
    for (const body of this.#bodies) body.dress(dress);
  }

  positions(view: number): Float32Array {
    return this.#bodies[view]?.positions ?? new Float32Array(0);
  }

  /** Draw view `k` where the renderer's viewport is. */
  draw(renderer: WebGLRenderer, camera: PerspectiveCamera, k: number, pointers: Iterable<HoldingPointer>): void {
    const { theme, level } = this.#wish;
    this.#bodies.forEach((body, other) => (body.group.visible = other === k));
    this.#strings.tie(pointers, this.positions(k));
    this.#shadows.forEach(({ ground }, other) => (ground.mesh.visible = this.#grounded && other === k));
    if (this.#bodies[k]) this.#shade(renderer, k);
    if (!level.backdrop) renderer.setClearColor(LOOKS[theme].plain);
    renderer.clear(!level.backdrop, true, false); // a backdrop covers every pixel
    renderer.render(this.scene, camera);
  }

  /** Find what is in the shade, unless that was just done: it may lag behind by a frame. */
  #shade(renderer: WebGLRenderer, k: number): void {
    const { level } = this.#wish;
    const shadow = this.#shadows[k], body = this.#bodies[k], frame = this.#frame;
    if (shadow.stale && performance.now() - shadow.at >= level.pause) {
      const box = body.box.clone().intersect(this.#shaded);
      if (box.isEmpty()) box.copy(body.box);
      const standing = this.#nearScenery(box);
      if (standing) box.union(standing.box);
      const fresh = shadow.at === -Infinity;
      shadow.stale = false;
      shadow.at = performance.now();
      shadow.heights ??= new Heights();
      if (level.fine) {
        const casters = [body.surface, standing?.mesh.geometry].filter((one) => one !== null && one !== undefined);
        shadow.map ??= new LightMap();
        shadow.map.render(renderer, casters, box, this.#across(), level.map);
        const aim = aimed(box, frame);
        shadow.ground.place(aim, frame);
        // Under a table all is dark to the light, so that what touches the ground there must be said.
        if (this.#grounded && (fresh || !shadow.heights.knows(standing, aim))) {
          shadow.ground.touch(shadow.heights, shadow.heights.cast(null, standing, box, frame, aim));
        }
      } else {
        const aim = shadow.heights.cast(body, standing, box, frame);
        shadow.ground.place(aim, frame);
        if (this.#grounded) shadow.ground.paint(shadow.heights, aim);
        for (const one of [body, this.#scenery]) {
          if (!one) continue;
          shadow.heights.light(one.positions, one.shade.array as Uint8Array, fresh ? 0 : MIXED);
          one.shade.needsUpdate = true;
        }
      }
    }
    if (level.fine) shadow.map?.shine(this.#light);
  }

  #nearScenery(box: Box3): Scenery | null {
    const standing = this.#scenery;
    if (!standing) return null;
    const size = box.getSize(new Vector3()).length();
    return standing.box.getSize(new Vector3()).length() < MUCH_LARGER * size ? standing : null;
  }

  /** Two axes across the light, and the way to it. */
  #across(): [Vector3, Vector3, Vector3] {
    const { key, right } = this.#frame;
    const ahead = new Vector3().crossVectors(key, right).normalize();
    return [new Vector3().crossVectors(ahead, key), ahead, key];
  }

  #frameAt(origin: Vector3): GroundFrame {
    const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), this.#up);
    const right = new Vector3(1, 0, 0).applyQuaternion(turn);
    const ahead = new Vector3(0, 1, 0).applyQuaternion(turn);
    return { origin, right, ahead, up: this.#up, key: this.#key };
  }
}
