// Links at work: what the address says is asked for when there is a connection, and again when the address changes.

import { effect } from "@preact/signals";

import { read, write, type Camera } from "./link";
import { edited, hello, link, scene, send, stageActions, state } from "./store";

/** The key of this page's address, read once: an address that is pasted over it need not have one. */
export const key = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

let camera: { scene: string; from: Camera } | null = null;

function ask(): void {
  const said = read(location.hash);
  if (!said) return;
  for (const part of said.parts) send(part);
  send(said.restore);
  // The address is the page's own again: loading it once more is not to undo what was changed since.
  history.replaceState(null, "", key ? `#token=${encodeURIComponent(key)}` : "#");
  camera = said.camera && { scene: said.restore.scene, from: said.camera };
  look();
}

/** As soon as the scene of the link is there. */
function look(): void {
  if (!camera || scene.peek()?.name !== camera.scene) return;
  stageActions.look(camera.from.eye, camera.from.target);
  camera = null;
}

export function startLinks(): void {
  let asked = false;
  effect(() => {
    if (asked || link.value !== "open" || !hello.value || !state.value) return;
    asked = true;
    ask();
  });
  scene.subscribe(() => queueMicrotask(look));
  window.addEventListener("hashchange", ask);
}

/** The address of what is seen now. */
export function address(withKey: boolean): string {
  const now = state.peek();
  const url = new URL(location.href);
  const made = { resolution: now?.resolution[0], edits: edited.peek() };
  url.hash = now ? write(now.scene, now.settings, stageActions.camera(), withKey ? key : null, made) : "";
  return url.href;
}
