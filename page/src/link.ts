// A link that restores scene, settings, pins, cuts and camera: all in the fragment, which browsers send to nobody. What it says is
// checked by the server like any other message; a camera is only the page's own.

import { RANGES, type Change, type Restore, type RestorePart, type Settings } from "./messages";

const OWN = ["token", "scene", "eye", "target", "resolution", "edits"]; // what is no setting
const NOT_KEPT = ["paused"];
const FAR = 1e4; // m
const LONGEST = 120; // letters of a name
const PART = 3500; // letters of pins and cuts in a message

export interface Camera {
  eye: number[];
  target: number[];
}

/** How fine the scene is, and pins and cuts as letters. */
export interface Made {
  resolution?: number;
  edits?: string;
}

/** What the fragment of an address says; null where it names no scene. */
export function read(hash: string): { restore: Restore; parts: RestorePart[]; camera: Camera | null } | null {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const name = said.get("scene");
  if (!name || name.length > LONGEST) return null;
  const settings: Record<string, unknown> = { type: "change" };
  for (const [key, text] of said) {
    if (OWN.includes(key) || NOT_KEPT.includes(key) || !/^[a-z_]{1,40}$/.test(key)) continue;
    if (text === "true" || text === "false") settings[key] = text === "true";
    else if (key in RANGES) settings[key] = number(text);
    else settings[key] = text.slice(0, LONGEST);
  }
  delete settings.type;
  const [eye, target] = [place(said.get("eye")), place(said.get("target"))];
  const edits = said.get("edits") ?? "";
  const parts = (edits.match(new RegExp(`.{1,${PART}}`, "gs")) ?? []).map(
    (text, k): RestorePart => ({ type: "restore_part", text, first: k === 0 }),
  );
  const resolution = Number(said.get("resolution")) || null;
  const made = { resolution, edited: parts.length > 0 };
  const restore = { type: "restore", scene: name, settings: settings as unknown as Change, ...made } as Restore;
  return { restore, parts, camera: eye && target ? { eye, target } : null };
}

/** The fragment for what is shown; with the key only if asked for: whoever has it can take part. */
export function write(scene: string, settings: Settings, camera: Camera, token: string | null, made: Made = {}): string {
  const said = new URLSearchParams();
  if (token) said.set("token", token);
  said.set("scene", scene);
  if (made.resolution) said.set("resolution", String(made.resolution));
  for (const [key, value] of Object.entries(settings)) {
    if (NOT_KEPT.includes(key) || value === null || value === "" || typeof value === "object") continue;
    said.set(key, typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value));
  }
  said.set("eye", camera.eye.map((value) => value.toPrecision(5)).join(","));
  said.set("target", camera.target.map((value) => value.toPrecision(5)).join(","));
  if (made.edits) said.set("edits", made.edits);
  return said.toString().replaceAll("%2C", ",");
}

/** What is no number is left as it is: the server says what is wrong with it. */
function number(text: string): number | string {
  const value = Number(text);
  return text.trim() && Number.isFinite(value) ? value : text.slice(0, LONGEST);
}

function place(text: string | null): number[] | null {
  const found = (text ?? "").split(",").map(Number);
  return found.length === 3 && found.every((value) => Number.isFinite(value) && Math.abs(value) < FAR) ? found : null;
}
