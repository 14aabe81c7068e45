// Grabbing without a pointer: Enter on the view shows a cross, arrows aim it, Enter takes hold, arrows pull, Enter lets go.

import { handSays, link, scene } from "../store";
import { tool } from "../tools";
import type { Pointers } from "./pointers";

const STEP = 24; // CSS pixels for an arrow, a quarter of that with shift
const FINE = 0.25;
const NEARER = 1.04; // for the keys for pages

const AIMING = "Aiming: arrows move the cross, with Shift a little; Enter takes hold; Escape ends.";
const HOLDING = "Holding: arrows and Page up, Page down pull; Enter or Escape lets go.";
const NOTHING = "There is nothing to hold under the cross. ";

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class KeyboardHand {
  readonly #canvas: HTMLCanvasElement;
  readonly #pointers: Pointers;
  readonly #near: (x: number, y: number) => [number, number];
  readonly #cross = document.createElement("div");
  #aim: [number, number] | null = null;

  /** `near`: where on the stage (CSS pixels) a body is seen that is near to a place. */
  constructor(canvas: HTMLCanvasElement, pointers: Pointers, near: (x: number, y: number) => [number, number]) {
    this.#near = near;
    this.#canvas = canvas;
    this.#pointers = pointers;
    this.#cross.className = "crosshair";
    this.#cross.hidden = true;
    this.#cross.setAttribute("aria-hidden", "true");
    canvas.after(this.#cross);
    // Before the camera's own listener: while somebody aims or holds, keys do not turn the view.
    canvas.addEventListener("keydown", (event) => {
      if (!this.#pressed(event)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    });
    canvas.addEventListener("blur", () => this.#end(""));
    link.subscribe((now) => {
      if (now !== "open") this.#end("");
    });
    scene.subscribe(() => this.#end(""));
    tool.subscribe(() => this.#end(""));
  }

  /** What was held has slipped: the cross is there again. */
  slipped(): void {
    if (this.#aim && !this.#pointers.heldByKeys) handSays.value = AIMING;
  }

  #pressed(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (!this.#aim) return event.key === "Enter" && !event.repeat && this.#begin();
    const held = this.#pointers.heldByKeys;
    const arrow = ARROWS[event.key];
    if (arrow) {
      const step = event.shiftKey ? FINE * STEP : STEP;
      this.#shift(step * arrow[0], step * arrow[1], held, event.timeStamp);
      return true;
    }
    switch (event.key) {
      case "PageUp":
      case "PageDown":
        if (held) this.#pointers.pullBy(0, 0, event.key === "PageUp" ? 1 / NEARER : NEARER, event.timeStamp);
        return held;
      case "Enter":
        if (event.repeat) return true;
        if (held) this.#end("Let go.");
        else if (this.#pointers.takeAt(...this.#aim, event.timeStamp)) handSays.value = HOLDING;
        else handSays.value = NOTHING + AIMING;
        return true;
      case "Escape":
        this.#end(held ? "Let go." : "No longer aiming.");
        return true;
      default:
        return false;
    }
  }

  #begin(): boolean {
    if (link.value !== "open" || !scene.value || tool.value !== "hand") return false;
    const { clientWidth, clientHeight } = this.#canvas;
    this.#aim = this.#near(clientWidth / 2, clientHeight / 2);
    this.#cross.hidden = false;
    this.#place();
    handSays.value = AIMING;
    return true;
  }

  #shift(x: number, y: number, held: boolean, time: number): void {
    if (!this.#aim) return;
    const { clientWidth, clientHeight } = this.#canvas;
    const [left, top] = [
      Math.min(clientWidth - 1, Math.max(0, this.#aim[0] + x)),
      Math.min(clientHeight - 1, Math.max(0, this.#aim[1] + y)),
    ];
    if (held) this.#pointers.pullBy(left - this.#aim[0], top - this.#aim[1], 1, time);
    this.#aim = [left, top];
    this.#place();
  }

  #place(): void {
    if (this.#aim) this.#cross.style.transform = `translate(${this.#aim[0]}px, ${this.#aim[1]}px)`;
  }

  #end(words: string): void {
    if (!this.#aim) return;
    this.#aim = null;
    this.#cross.hidden = true;
    this.#pointers.letGoByKeys();
    handSays.value = words;
    if (words) window.setTimeout(() => handSays.value === words && (handSays.value = ""), 4000);
  }
}
