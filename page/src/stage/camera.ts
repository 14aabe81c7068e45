// From where the person looks: the scene's own view to begin with, then wherever they turn it, but never from below the ground.

import { type Box3, MOUSE, type PerspectiveCamera, TOUCH, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

import type { CameraView } from "../messages";
import { distanceFor, eased, steepest } from "./framing";

const FRAMED_FOR = 4 / 3; // width over height that the scene's view was made for
const KEY_TURN = Math.PI / 24;
const KEY_SHIFT = 0.06; // of the distance
const FLIGHT = 350; // ms from one view to another

interface Flight {
  began: number;
  from: { eye: Vector3; target: Vector3 };
  to: { eye: Vector3; target: Vector3 };
}

export class Eye {
  readonly camera: PerspectiveCamera;
  readonly controls: OrbitControls;
  readonly #changed: () => void;
  readonly #still = window.matchMedia("(prefers-reduced-motion: reduce)");
  #view: CameraView | null = null;
  #ground: number | null = null;
  #moved = false;
  #flight: Flight | null = null;

  constructor(camera: PerspectiveCamera, canvas: HTMLCanvasElement, changed: () => void) {
    this.camera = camera;
    this.#changed = changed;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.mouseButtons = { LEFT: MOUSE.ROTATE, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
    this.controls.touches = { ONE: TOUCH.ROTATE, TWO: TOUCH.DOLLY_PAN };
    this.controls.rotateSpeed = 0.8;
    this.controls.dampingFactor = 0.15;
    this.controls.enableDamping = !this.#still.matches;
    this.#still.addEventListener("change", () => (this.controls.enableDamping = !this.#still.matches));
    this.controls.addEventListener("start", () => {
      this.#moved = true;
      this.#flight = null;
    });
    this.controls.addEventListener("change", changed);
    canvas.addEventListener("keydown", (event) => {
      if (this.#pressed(event)) changed();
    });
  }

  /** How far what is looked at is away. */
  get distance(): number {
    return this.camera.position.distanceTo(this.controls.target);
  }

  /** Take the scene's view; `home` goes back to it. `ground`: its height, null where there is none. */
  look(view: CameraView, ground: number | null): void {
    this.#view = view;
    this.#ground = ground;
    this.#moved = false;
    this.#frame();
  }

  /** Another view of the same scene: the person stays where they are. */
  renew(view: CameraView, ground: number | null): void {
    this.#view = view;
    this.#ground = ground;
  }

  /** Go somewhere else, as a person might have. */
  stand(eye: number[], target: number[]): void {
    this.#frame();
    this.#moved = true;
    this.controls.target.fromArray(target);
    this.camera.position.fromArray(eye);
    this.update();
  }

  /** Back to the scene's view. */
  home(): void {
    this.#moved = false;
    const own = this.#own();
    if (own) this.#fly(own.eye, own.target);
  }

  /** See all of a box, from where one looks now. */
  fit(box: Box3): void {
    if (box.isEmpty()) return;
    this.#moved = true;
    const target = box.getCenter(new Vector3());
    const back = this.camera.position.clone().sub(this.controls.target).normalize();
    const away = distanceFor(box, this.camera.fov, this.camera.aspect);
    this.controls.maxDistance = Math.max(this.controls.maxDistance, 2 * away);
    this.controls.minDistance = Math.min(this.controls.minDistance, away / 50);
    this.#fly(target.clone().addScaledVector(back, away), target);
  }

  /** The shape of the views; what nobody has turned yet is framed anew. */
  shape(aspect: number): void {
    if (!Number.isFinite(aspect) || aspect <= 0 || this.camera.aspect === aspect) return;
    this.camera.aspect = aspect;
    this.camera.updateProjectionMatrix();
    if (!this.#moved) this.#frame();
  }

  /** Carry on with what was set in motion; the controls say when something changed. */
  update(): void {
    this.#glide();
    this.#stayAbove();
    this.controls.update();
    const { distance } = this;
    if (Math.abs(this.camera.near / (distance / 100) - 1) > 0.01) {
      this.camera.near = distance / 100;
      this.camera.far = distance * 100;
      this.camera.updateProjectionMatrix();
    }
  }

  /** The controls keep to an angle; which one depends on how high and how far away one looks. */
  #stayAbove(): void {
    const { target } = this.controls;
    if (this.#ground === null) {
      this.controls.maxPolarAngle = Math.PI;
      return;
    }
    const height = target.dot(this.camera.up) - this.#ground;
    if (height < 0) target.addScaledVector(this.camera.up, -height); // shifted below
    this.controls.maxPolarAngle = steepest(Math.max(height, 0), this.distance);
  }

  #fly(eye: Vector3, target: Vector3): void {
    this.#rest();
    const from = { eye: this.camera.position.clone(), target: this.controls.target.clone() };
    this.#flight = { began: this.#still.matches ? -Infinity : performance.now(), from, to: { eye, target } };
    this.#changed();
  }

  #glide(): void {
    const flight = this.#flight;
    if (!flight) return;
    const part = eased((performance.now() - flight.began) / FLIGHT);
    this.camera.position.lerpVectors(flight.from.eye, flight.to.eye, part);
    this.controls.target.lerpVectors(flight.from.target, flight.to.target, part);
    if (part >= 1) this.#flight = null;
    this.#changed();
  }

  /** What was set in motion ends here: an update without damping forgets it. */
  #rest(): void {
    const { enableDamping } = this.controls;
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = enableDamping;
  }

  /** The scene's view, as far away as the shape of the window asks for. */
  #own(): { eye: Vector3; target: Vector3 } | null {
    if (!this.#view) return null;
    const target = new Vector3().fromArray(this.#view.target);
    const back = new Vector3().fromArray(this.#view.eye).sub(target);
    back.multiplyScalar(Math.max(1, FRAMED_FOR / this.camera.aspect));
    return { target, eye: target.clone().add(back) };
  }

  #frame(): void {
    const own = this.#own();
    if (!this.#view || !own) return;
    this.#flight = null;
    this.#rest();
    this.camera.up.fromArray(this.#view.up).normalize();
    this.camera.fov = this.#view.fov_degrees;
    const away = own.eye.distanceTo(own.target);
    this.controls.target.copy(own.target);
    this.camera.position.copy(own.eye);
    this.controls.minDistance = away / 50;
    this.controls.maxDistance = away * 8;
    this.camera.updateProjectionMatrix();
    this.update();
  }

  /** Arrows turn, with shift they move the view; the keys for pages go nearer and farther. */
  #pressed(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const { controls, camera } = this;
    const offset = camera.position.clone().sub(controls.target);
    const side = new Vector3().crossVectors(camera.up, offset).normalize();
    const over = new Vector3().crossVectors(offset, side).normalize();
    const steep = offset.angleTo(camera.up);
    const lowest = Math.min(controls.maxPolarAngle, Math.PI - 0.05);
    const far = KEY_SHIFT * offset.length();
    const turn = (axis: Vector3, angle: number): void => void offset.applyAxisAngle(axis, angle);
    const shift = (axis: Vector3, by: number): void => void controls.target.addScaledVector(axis, by);
    switch (event.shiftKey ? `Shift+${event.key}` : event.key) {
      case "ArrowLeft": turn(camera.up, -KEY_TURN); break;
      case "ArrowRight": turn(camera.up, KEY_TURN); break;
      case "ArrowUp": turn(side, -Math.min(KEY_TURN, steep - 0.05)); break;
      case "ArrowDown": turn(side, Math.max(0, Math.min(KEY_TURN, lowest - steep))); break;
      case "Shift+ArrowLeft": shift(side, -far); break;
      case "Shift+ArrowRight": shift(side, far); break;
      case "Shift+ArrowUp": shift(over, far); break;
      case "Shift+ArrowDown": shift(over, -far); break;
      case "PageUp": offset.multiplyScalar(1 / 1.1); break;
      case "PageDown": offset.multiplyScalar(1.1); break;
      default: return false;
    }
    event.preventDefault();
    this.#moved = true;
    this.#flight = null;
    camera.position.copy(controls.target).add(offset);
    this.update();
    return true;
  }
}
