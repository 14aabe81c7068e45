// Keys: one table, for the listener and for the help.

import { signal } from "@preact/signals";

import * as actions from "./actions";
import { galleryOpen } from "./gallery/open";
import { remember, remembered } from "./remember";
import { fold } from "./sheet";
import { toggleTheme } from "./theme";
import { toggleRuler, toggleWireframe } from "./view";

export interface Shortcut {
  /** As `KeyboardEvent.key` has them. */
  keys: string[];
  /** As the help writes them. */
  shown: string[];
  what: string;
  run: () => void;
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: [" "], shown: ["Space"], what: "Pause and play", run: actions.togglePause },
  { keys: [".", "s"], shown: [".", "S"], what: "One step, while paused", run: actions.step },
  { keys: ["r"], shown: ["R"], what: "Start the scene again", run: actions.reset },
  { keys: ["h"], shown: ["H"], what: "The scene’s own view", run: actions.home },
  { keys: ["f"], shown: ["F"], what: "See all of the bodies", run: actions.fit },
  { keys: ["e"], shown: ["E"], what: "Edges of the mesh", run: toggleWireframe },
  { keys: ["m"], shown: ["M"], what: "Measure: a ruler, Escape ends it", run: toggleRuler },
  { keys: ["g"], shown: ["G"], what: "Gallery", run: () => (galleryOpen.value = !galleryOpen.peek()) },
  { keys: ["c"], shown: ["C"], what: "Next colouring", run: actions.nextColouring },
  { keys: ["v"], shown: ["V"], what: "Split view on and off", run: actions.toggleSplit },
  { keys: ["["], shown: ["["], what: "Previous solver", run: () => actions.nextSolver(-1) },
  { keys: ["]"], shown: ["]"], what: "Next solver", run: () => actions.nextSolver(1) },
  { keys: ["+", "="], shown: ["+"], what: "A millisecond more, or ten iterations", run: () => actions.changeBudget(1) },
  { keys: ["-"], shown: ["−"], what: "A millisecond less, or ten iterations", run: () => actions.changeBudget(-1) },
  { keys: ["w"], shown: ["W"], what: "Wind on and off", run: actions.toggleWind },
  { keys: ["n"], shown: ["N"], what: "Pin with the pointer, and back to the hand", run: () => actions.choose("pin") },
  { keys: ["x"], shown: ["X"], what: "Cut with the pointer, and back to the hand", run: () => actions.choose("cut") },
  { keys: ["u"], shown: ["U", "Ctrl Z"], what: "Undo a change of settings, pins or cuts", run: actions.undo },
  { keys: ["y"], shown: ["Y", "Ctrl Shift Z"], what: "Make it again", run: actions.redo },
  { keys: ["t"], shown: ["T"], what: "Record, and stop", run: actions.toggleRecording },
  { keys: ["p"], shown: ["P"], what: "Save a still", run: actions.still },
  { keys: ["d"], shown: ["D"], what: "Dark and light", run: toggleTheme },
  { keys: ["?"], shown: ["?"], what: "This help", run: () => (actions.helpOpen.value = !actions.helpOpen.peek()) },
];

/** Single keys get in the way of speech input and of some screen readers, so they can be switched off. */
export const keysOn = signal(remembered("keys") !== "off");

export function setKeys(on: boolean): void {
  keysOn.value = on;
  remember("keys", on ? "on" : "off");
}

const WRITING = "select, textarea, [contenteditable], input:not([type=range], [type=radio], [type=checkbox])";
const PRESSED_BY_SPACE = "button, summary, a, input:not([type=range])";

function belongsElsewhere(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return true;
  if (!target) return false;
  return target.matches(WRITING) || (event.key === " " && target.closest(PRESSED_BY_SPACE) !== null);
}

/** The keys that undo everywhere; in a field they are the field's own. */
function isUndo(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  if (!(event.ctrlKey || event.metaKey) || event.altKey || target?.matches(WRITING)) return false;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return false;
  event.preventDefault();
  if (key === "z" && !event.shiftKey) actions.undo();
  else actions.redo();
  return true;
}

export function listen(): void {
  window.addEventListener("keydown", (event) => {
    const open = actions.helpOpen.peek() || galleryOpen.peek();
    if (event.key === "Escape" && !open) fold(); // a dialogue closes by itself
    if (isUndo(event)) return;
    if (belongsElsewhere(event) || !keysOn.peek()) return;
    if (open && event.key !== (galleryOpen.peek() ? "g" : "?")) return;
    const shortcut = SHORTCUTS.find((one) => one.keys.includes(event.key));
    if (!shortcut || (event.repeat && !".s+=-".includes(event.key))) return;
    event.preventDefault();
    shortcut.run();
  });
}

/** What mouse, fingers and keys do on the view itself, for the help. */
export const GESTURES: readonly [string, string][] = [
  ["Drag a body", "Pull at it; every finger holds a place of its own"],
  ["Drag what stands in the scene", "Move it: a table, a ball; it stays where you let go"],
  ["Wheel while pulling", "Towards you and away"],
  ["Click or box, with Pin", "Pin vertices, or let them go"],
  ["Stroke, with Cut", "Part what lies under it"],
  ["Drag beside it", "Turn the view"],
  ["Right drag, two fingers", "Shift the view"],
  ["Wheel, pinch", "Nearer and farther"],
  ["Arrows, Page up and down", "The same, when the view has the focus; with Shift, arrows shift it"],
  ["Enter, when the view has the focus", "Aim with arrows; Enter takes hold, arrows pull, Enter lets go"],
];
