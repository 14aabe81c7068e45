// Colours that mean something, mixed in Oklab, where equal steps look equal: a ramp for amounts and a set for numbers.

export type Theme = "light" | "dark";

type Triple = [number, number, number];

/** Lightness, chroma and hue (degrees) of Oklch at equal distances along the ramp; lightness only ever grows. */
const ANCHORS: Record<Theme, Triple[]> = {
  light: [
    [0.36, 0.13, 295],
    [0.5, 0.115, 245],
    [0.64, 0.115, 185],
    [0.77, 0.155, 135],
    [0.9, 0.17, 102],
  ],
  dark: [
    [0.48, 0.14, 295],
    [0.6, 0.12, 245],
    [0.72, 0.12, 185],
    [0.83, 0.16, 135],
    [0.95, 0.16, 104],
  ],
};

const GOLDEN_ANGLE = 180 * (3 - Math.sqrt(5));
/** Neighbours in number differ in lightness too, for eyes that tell few hues apart. */
const LEVELS = [0.7, 0.52, 0.84, 0.61];
const FIRST_HUE = 45;

function unlinear(part: number): number {
  const clipped = Math.min(Math.max(part, 0), 1);
  return clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
}

function linearOf([lightness, a, b]: Triple): Triple {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function oklab([lightness, chroma, hue]: Triple): Triple {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

/** sRGB bytes; where the screen cannot show so much chroma, as much as it can. */
function bytes([lightness, a, b]: Triple): Triple {
  let linear = linearOf([lightness, a, b]);
  for (let kept = 0.95; kept > 0 && linear.some((part) => part < -1e-4 || part > 1.0001); kept -= 0.05) {
    linear = linearOf([lightness, kept * a, kept * b]);
  }
  return linear.map((part) => Math.round(255 * unlinear(part))) as Triple;
}

function table(of: (k: number) => Triple): Uint8Array {
  const rgb = new Uint8Array(3 * 256);
  for (let k = 0; k < 256; k++) rgb.set(bytes(of(k)), 3 * k);
  return rgb;
}

function along(anchors: Triple[], at: number): Triple {
  const place = at * (anchors.length - 1);
  const first = Math.min(Math.floor(place), anchors.length - 2);
  const p = oklab(anchors[first]);
  const q = oklab(anchors[first + 1]);
  return p.map((value, axis) => value + (place - first) * (q[axis] - value)) as Triple;
}

function numbered(k: number): Triple {
  return oklab([LEVELS[k % LEVELS.length], 0.15, (FIRST_HUE + k * GOLDEN_ANGLE) % 360]);
}

const RAMPS = {
  light: table((k) => along(ANCHORS.light, k / 255)),
  dark: table((k) => along(ANCHORS.dark, k / 255)),
};
const NUMBERS = table(numbered);

/** 256 × sRGB for amounts from none to most. */
export function rampBytes(theme: Theme): Uint8Array {
  return RAMPS[theme];
}

/** 256 × sRGB for numbers. */
export function categoricalBytes(): Uint8Array {
  return NUMBERS;
}

function css(rgb: Uint8Array, k: number): string {
  return `rgb(${rgb[3 * k]} ${rgb[3 * k + 1]} ${rgb[3 * k + 2]})`;
}

/** The same ramp as CSS colours, for a legend. */
export function ramp(theme: Theme, steps = 16): string[] {
  return Array.from({ length: steps }, (_, k) => css(RAMPS[theme], Math.round((255 * k) / (steps - 1))));
}

/** The colour of number `k` as CSS. */
export function categorical(k: number): string {
  return css(NUMBERS, k % 256);
}
