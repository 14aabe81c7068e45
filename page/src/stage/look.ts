// How things look in the light and in the dark theme: colours as sRGB, and the light as directions and strengths.

import { Color, Vector3 } from "three";

import type { Theme } from "./colours";

export interface Look {
  /** The backdrop from its upper to its lower edge. */
  above: Color;
  below: Color;
  floor: Color;
  /** Instead of all three, where drawing is dear. */
  plain: Color;
  /** What the floor looks like in the shade, and how deep the shade is. */
  shade: Color;
  shadow: number;
  body: Color;
  scenery: Color;
  wire: Color;
  /** Edges of triangles over a surface. */
  lines: Color;
  pin: Color;
  pointer: Color;
  divider: Color;
  /** Light from above and from below, and the strengths of the key, of the light beside the eye, and of the rim. */
  sky: Color;
  earth: Color;
  key: number;
  fill: number;
  rim: number;
}

export const LOOKS: Record<Theme, Look> = {
  light: {
    above: new Color("#d3dbe4"),
    below: new Color("#eeecea"),
    floor: new Color("#f0eeea"),
    plain: new Color("#e6e8ea"),
    shade: new Color("#4a4650"),
    shadow: 0.62,
    body: new Color("#3f7fbf"),
    scenery: new Color("#b8a591"),
    wire: new Color("#2f6ba8"),
    lines: new Color("#10233a"),
    pin: new Color("#c2410c"),
    pointer: new Color("#d6336c"),
    divider: new Color("#ffffff"),
    sky: new Color("#f4f8ff").multiplyScalar(0.5),
    earth: new Color("#b8a898").multiplyScalar(0.3),
    key: 0.68,
    fill: 0.28,
    rim: 0.2,
  },
  dark: {
    above: new Color("#0f1318"),
    below: new Color("#1d232b"),
    floor: new Color("#2a313b"),
    plain: new Color("#1a2028"),
    shade: new Color("#05070a"),
    shadow: 0.75,
    body: new Color("#4f95d8"),
    scenery: new Color("#7d756d"),
    wire: new Color("#7db8ee"),
    lines: new Color("#060a10"),
    pin: new Color("#ffa05c"),
    pointer: new Color("#ff6b9d"),
    divider: new Color("#0a0d11"),
    sky: new Color("#cfdcf0").multiplyScalar(0.4),
    earth: new Color("#59616e").multiplyScalar(0.26),
    key: 0.64,
    fill: 0.32,
    rim: 0.34,
  },
};

/** Where the key light comes from, in a frame whose second axis is up: high, so that shadows lie nearly underneath. */
export const KEY = new Vector3(-0.32, 1, 0.38).normalize();
