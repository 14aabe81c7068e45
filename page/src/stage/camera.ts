// From where the person looks: the scene's own view to begin with, then wherever they turn it.

import { MOUSE, type PerspectiveCamera, TOUCH, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

import type { CameraView } from "../messages";

const FRAMED_FOR = 4 / 3; // width over height that the scene's view was made for
const KEY_TURN = Math.PI / 24;

export class Eye {
  readonly camera: PerspectiveCamera;
  readonly controls: OrbitControls;
  #view: CameraView | null = null;
  #moved = false;

  constructor(camera: PerspectiveCamera, canvas: HTMLCanvasElement, changed: () => void) {
    this.camera = camera;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.mouseButtons = { LEFT: MOUSE.ROTATE, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
    this.controls.touches = { ONE: TOUCH.ROTATE, TWO: TOUCH.DOLLY_PAN };
    this.controls.rotateSpeed = 0.8;
    this.controls.dampingFactor = 0.15;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.controls.enableDamping = !still.matches;
    still.addEventListener("change", () => (this.controls.enableDamping = !still.matches));
    this.controls.addEventListener("start", () => (this.#moved = true));
    this.controls.addEventListener("change", changed);
    canvas.addEventListener("keydown", (event) => {
      if (this.#pressed(event)) changed();
    });
  }

  /** How far what is looked at is away. */
  get distance(): number {
    return this.camera.position.distanceTo(this.controls.target);
  }

  /** Take the scene's view; `home` goes back to it. */
  look(view: CameraView): void {
    this.#view = view;
    this.home();
  }

  /** Another view of the same scene: the person stays where they are. */
  renew(view: CameraView): void {
    this.#view = view;
  }

  /** Go somewhere else, as a person might have. */
  stand(eye: number[], target: number[]): void {
    this.home();
    this.#moved = true;
    this.controls.target.fromArray(target);
    this.camera.position.fromArray(eye);
    this.update();
  }

  home(): void {
    this.#moved = false;
    // An update without damping forgets what was set in motion, which would carry the view on.
    const { enableDamping } = this.controls;
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = enableDamping;
    this.#frame();
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
    this.controls.update();
    const { distance } = this;
    if (Math.abs(this.camera.near / (distance / 100) - 1) > 0.01) {
      this.camera.near = distance / 100;
      this.camera.far = distance * 100;
      this.camera.updateProjectionMatrix();
    }
  }

  #frame(): void {
    const view = this.#view;
    if (!view) return;
    const { enableDamping } = this.controls;
    this.controls.enableDamping = false;
    this.controls.update(); // what was set in motion ends here
    this.controls.enableDamping = enableDamping;
    this.camera.up.fromArray(view.up).normalize();
    this.camera.fov = view.fov_degrees;
    const target = new Vector3().fromArray(view.target);
    const back = new Vector3().fromArray(view.eye).sub(target);
    back.multiplyScalar(Math.max(1, FRAMED_FOR / this.camera.aspect));
    this.controls.target.copy(target);
    this.camera.position.copy(target).add(back);
    this.controls.minDistance = back.length() / 50;
    this.controls.maxDistance = back.length() * 8;
    this.camera.updateProjectionMatrix();
    this.update();
  }

  /** Arrows turn, the keys for pages go nearer and farther. */
  #pressed(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const { controls } = this;
    const offset = this.camera.position.clone().sub(controls.target);
    const side = new Vector3().crossVectors(this.camera.up, offset).normalize();
    const steep = offset.angleTo(this.camera.up);
    const turn = (axis: Vector3, angle: number): void => void offset.applyAxisAngle(axis, angle);
    switch (event.key) {
      case "ArrowLeft": turn(this.camera.up, -KEY_TURN); break;
      case "ArrowRight": turn(this.camera.up, KEY_TURN); break;
      case "ArrowUp": turn(side, -Math.min(KEY_TURN, steep - 0.05)); break;
      case "ArrowDown": turn(side, Math.min(KEY_TURN, Math.PI - 0.05 - steep)); break;
      case "PageUp": offset.multiplyScalar(1 / 1.1); break;
      case "PageDown": offset.multiplyScalar(1.1); break;
      default: return false;
    }
    event.preventDefault();
    this.#moved = true;
    this.camera.position.copy(controls.target).add(offset);
    controls.update();
    return true;
  }
}
