// How each fabric looks: its colours, its threads, and how it shines. The place to give a fabric of one's own a look.

import { Color } from "three";

import type { Theme } from "./colours";
import type { Pattern } from "./weave";

export interface FabricLook {
  /** Of the threads, in the light and in the dark theme; `second`: of the others in a check or twill. */
  colour: Record<Theme, Color>;
  second: Record<Theme, Color>;
  pattern: Pattern;
  /** Side of a repeat of the pattern (m); null: so that a cloth has a good number of them. */
  repeat: number | null;
  /** How high threads stand out, from 0. */
  relief: number;
  /** Light at grazing angles, as fibres that stand up give, and a highlight, as smooth ones do. */
  sheen: number;
  gloss: number;
  /** Share of the light that comes through. */
  thin: number;
}

function dyes(light: string, dark: string): Record<Theme, Color> {
  return { light: new Color(light), dark: new Color(dark) };
}

const LINEN = dyes("#f4efe6", "#e6e1d8");

/** Cloth of which nobody said what it is. */
export const CLOTH: FabricLook = {
  colour: dyes("#2f6fae", "#3f7fc0"),
  second: LINEN,
  pattern: "check",
  repeat: null,
  relief: 0.5,
  sheen: 0.12,
  gloss: 0,
  thin: 0.22,
};

const LOOKS: Record<string, FabricLook> = {
  cotton: { ...CLOTH },
  silk: { ...CLOTH, colour: dyes("#a8324a", "#b83c56"), pattern: "plain", repeat: 0.02, relief: 0.1, sheen: 0.05, gloss: 0.55, thin: 0.3 },
  denim: { ...CLOTH, colour: dyes("#2b4468", "#35527b"), second: dyes("#c9d2dc", "#aab6c4"), pattern: "twill", repeat: 0.03, relief: 0.7, sheen: 0.1, thin: 0.02 },
  leather: { ...CLOTH, colour: dyes("#7a4a2b", "#84532f"), pattern: "grain", repeat: 0.12, relief: 0.6, sheen: 0, gloss: 0.35, thin: 0 },
  rubber: { ...CLOTH, colour: dyes("#3a3d42", "#4a4f57"), pattern: "grain", repeat: 0.4, relief: 0.1, sheen: 0.02, gloss: 0.3, thin: 0 },
  felt: { ...CLOTH, colour: dyes("#5d7f4f", "#68905a"), pattern: "grain", repeat: 0.06, relief: 0.5, sheen: 0.35, thin: 0.03 },
};

/** The look of a fabric by its name; of one without a look of its own, that of plain cloth. */
export function fabricLook(name: string): FabricLook {
  return Object.hasOwn(LOOKS, name) ? LOOKS[name] : CLOTH;
}
