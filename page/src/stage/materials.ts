// Surfaces under a hemisphere of light, a key, and a rim: one cheap shader of our own. Light is computed at the vertices,
// which are dense, up to the screen's own colours: without a graphics card every instruction for a pixel counts.

import { Color, DoubleSide, FrontSide, ShaderMaterial, Vector3 } from "three";

import type { Look } from "./look";

const SCREEN = /* glsl */ `
vec3 screen(vec3 light) {
  return min(1.055 * pow(max(light, 0.0), vec3(1.0 / 2.4)) - 0.055, 1.0);
}`;

const VERTEX = /* glsl */ `
${SCREEN}
#ifdef COLOURED
attribute vec4 tint;
#endif
varying vec3 vFront;
#ifdef TWO_SIDED
varying vec3 vBack;
#endif
#ifdef FLAT
flat varying vec3 vTint;
#endif
uniform vec3 base;
uniform vec3 up;
uniform vec3 key;
uniform vec3 sky;
uniform vec3 earth;
uniform float keyStrength;
uniform float fill;
uniform float rim;
uniform float farther;

vec3 shown(vec3 colour, vec3 n, vec3 eye) {
  float facing = max(dot(n, eye), 0.0);
  float lit = max((dot(n, key) + 0.25) / 1.25, 0.0); // wraps around a little, as light does in cloth
  vec3 light = mix(earth, sky, 0.5 + 0.5 * dot(n, up)) + keyStrength * lit * lit + fill * facing;
  float edge = 1.0 - facing;
  #ifdef FLAT
    return light;
  #else
    return screen(colour * light + rim * edge * edge * edge * sky);
  #endif
}

void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(cameraPosition + farther * (position - cameraPosition), 1.0);
  vec3 n = normalize(normal);
  vec3 eye = normalize(cameraPosition - position);
  #ifdef COLOURED
    vec3 colour = tint.rgb * tint.rgb * (0.3 + 0.7 * tint.rgb); // light of these sRGB values, nearly
  #else
    vec3 colour = base;
  #endif
  vFront = shown(colour, n, eye);
  #ifdef TWO_SIDED
    vBack = shown(0.72 * colour, -n, eye);
  #endif
  #ifdef FLAT
    vTint = colour;
  #endif
}`;

const FRAGMENT = /* glsl */ `
${SCREEN}
varying vec3 vFront;
#ifdef TWO_SIDED
varying vec3 vBack;
#endif
#ifdef FLAT
flat varying vec3 vTint;
#endif
void main() {
  #ifdef TWO_SIDED
    vec3 colour = gl_FrontFacing ? vFront : vBack;
  #else
    vec3 colour = vFront;
  #endif
  #ifdef FLAT
    colour = screen(vTint * colour);
  #endif
  gl_FragColor = vec4(colour, 1.0);
}`;

export interface SurfaceOptions {
  /** By the vertices' own colours; `flat`: each triangle in that of its last vertex, since numbers do not mix. */
  coloured?: "smooth" | "flat";
  twoSided: boolean;
  /** Seen in the same place, but so many times as far away: what lies on it then hides it. */
  farther?: number;
}

export function surfaceMaterial({ coloured, twoSided, farther = 1 }: SurfaceOptions): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    defines: {
      ...(coloured && { COLOURED: "" }),
      ...(coloured === "flat" && { FLAT: "" }),
      ...(twoSided && { TWO_SIDED: "" }),
    },
    side: twoSided ? DoubleSide : FrontSide,
    uniforms: {
      base: { value: new Color() },
      up: { value: new Vector3(0, 1, 0) },
      key: { value: new Vector3(0, 1, 0) },
      sky: { value: new Color() },
      earth: { value: new Color() },
      keyStrength: { value: 1 },
      fill: { value: 0 },
      rim: { value: 0 },
      farther: { value: farther },
    },
  });
}

/** Put a material into this light; the key's direction is the scene's. */
export function lighten(material: ShaderMaterial, look: Look, base: Color, up: Vector3, key: Vector3): void {
  const { uniforms } = material;
  uniforms.base.value.copy(base);
  uniforms.up.value.copy(up);
  uniforms.key.value.copy(key);
  uniforms.sky.value.copy(look.sky);
  uniforms.earth.value.copy(look.earth);
  uniforms.keyStrength.value = look.key;
  uniforms.fill.value = look.fill;
  uniforms.rim.value = look.rim;
}

const DOT_VERTEX = /* glsl */ `
uniform float size;
uniform float nearer;
void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  gl_Position.z -= nearer * gl_Position.w; // over the surface it lies on
  gl_PointSize = size;
}`;

const DOT_FRAGMENT = /* glsl */ `
uniform vec3 colour;
uniform float hole;
uniform float size;
void main() {
  float radius = length(gl_PointCoord - 0.5) * 2.0;
  float soft = 2.0 / size;
  float inside = 1.0 - smoothstep(1.0 - soft, 1.0, radius);
  if (hole > 0.0) inside *= smoothstep(hole - soft, hole, radius) + (1.0 - smoothstep(0.3 - soft, 0.3, radius));
  if (inside < 0.02) discard;
  gl_FragColor = vec4(colour, inside);
  #include <colorspace_fragment>
}`;

/** Round points of a size in pixels; with a hole, a ring around a dot. */
export function dotMaterial(nearer: number, hole = 0): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: DOT_VERTEX,
    fragmentShader: DOT_FRAGMENT,
    transparent: true,
    depthWrite: false,
    uniforms: {
      colour: { value: new Color() },
      size: { value: 8 },
      nearer: { value: nearer },
      hole: { value: hole },
    },
  });
}
