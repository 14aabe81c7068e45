// The light that all surfaces of a scene share: where it comes from, how strong it is, and what stands in its way. One set of
// uniforms that every material points to, so that it is set once.

import { Color, type DepthTexture, Matrix4, Vector2, Vector3, Vector4 } from "three";

import type { Look } from "./look";

export class Light {
  readonly uniforms = {
    up: { value: new Vector3(0, 1, 0) },
    key: { value: new Vector3(0, 1, 0) },
    sky: { value: new Color() },
    earth: { value: new Color() },
    /** Those two without their hue, for where a number must do. */
    greys: { value: new Vector2() },
    keyStrength: { value: 1 },
    fill: { value: 0 },
    rim: { value: 0 },
    /** How far away the nearest thing is, as the key light sees it. */
    lightMap: { value: null as DepthTexture | null },
    /** From the scene to that picture. */
    lightMatrix: { value: new Matrix4() },
    /** Its pixel in m, one over its pixels, reach of the neighbourhood that takes away light (m), blur in pixels. */
    lightScale: { value: new Vector4(0.01, 0.001, 0.2, 3) },
  };

  dress(look: Look, up: Vector3, key: Vector3): void {
    const { uniforms } = this;
    uniforms.up.value.copy(up);
    uniforms.key.value.copy(key);
    uniforms.sky.value.copy(look.sky);
    uniforms.earth.value.copy(look.earth);
    uniforms.greys.value.set(greyOf(look.sky), greyOf(look.earth));
    uniforms.keyStrength.value = look.key;
    uniforms.fill.value = look.fill;
    uniforms.rim.value = look.rim;
  }
}

function greyOf({ r, g, b }: Color): number {
  return 0.3 * r + 0.5 * g + 0.2 * b;
}

/** Light on a surface, for all shaders: a colour where they are FINE, else a number. `visible`: share of the key; `open`: share of the sky. */
export const LIGHTING = /* glsl */ `
uniform vec3 up;
uniform vec3 key;
#ifdef FINE
#define TONE vec3
uniform vec3 sky;
uniform vec3 earth;
#else
#define TONE float
uniform vec2 greys;
#define sky greys.x
#define earth greys.y
#endif
uniform float keyStrength;
uniform float fill;
uniform float rim;

TONE lightOn(vec3 n, vec3 eye, float visible, float open, float thin, float sheen) {
  float facing = max(dot(n, eye), 0.0);
  float toKey = dot(n, key);
  float lit = max((toKey + 0.18) / 1.18, 0.0); // wraps around a little, as light does in cloth
  float through = thin * max(-toKey, 0.0);
  float edge = 1.0 - facing;
  float around = 0.4 + 0.6 * open;
  TONE ambient = mix(earth, sky, 0.5 + 0.5 * dot(n, up)) * around + fill * facing * (0.45 + 0.55 * open);
  return ambient + keyStrength * visible * (lit + through) + (rim + sheen) * edge * edge * edge * around * sky;
}`;

/** How much of the key and of the sky a place sees, by the picture that the light has. */
export const SEEN = /* glsl */ `
uniform highp sampler2DShadow lightMap;
uniform mat4 lightMatrix;
uniform vec4 lightScale;

bool outside(vec3 seen) {
  return seen.z < 0.0 || any(lessThan(seen.xy, vec2(0.0))) || any(greaterThan(seen.xy, vec2(1.0)));
}

float clear(vec3 place) {
  vec3 seen = (lightMatrix * vec4(place, 1.0)).xyz;
  return outside(seen) ? 1.0 : texture(lightMap, vec3(seen.xy, min(seen.z, 1.0)));
}

/** Off its own surface: the more the light grazes it, the farther. */
vec3 lifted(vec3 place, vec3 n, vec3 towards) {
  float slope = dot(n, towards);
  return place + lightScale.x * (n * sign(slope) * (1.2 + 1.8 * (1.0 - abs(slope))) + 1.2 * towards);
}

/** Of the key light; places on a spiral, whose turn may differ from pixel to pixel. */
float keySeen(vec3 place, vec3 n, vec3 towards, float blur, float turn) {
  vec3 at = (lightMatrix * vec4(lifted(place, n, towards), 1.0)).xyz;
  if (outside(at)) return 1.0;
  at.z = min(at.z, 1.0);
  float sum = 0.0;
  for (int k = 0; k < TAPS; k++) {
    float angle = 2.39996323 * float(k) + turn;
    float away = blur * lightScale.y * sqrt((float(k) + 0.5) / float(TAPS));
    sum += texture(lightMap, at + vec3(away * cos(angle), away * sin(angle), 0.0));
  }
  return sum / float(TAPS);
}

/** Of the sky: how much of the neighbourhood on this side of the surface is not in the shade. */
float skySeen(vec3 place, vec3 n, vec3 towards, float turn) {
  vec3 from = lifted(place, n, towards);
  float sum = 0.0;
  for (int k = 0; k < AROUND; k++) {
    float part = (float(k) + 0.5) / float(AROUND);
    float angle = 2.39996323 * float(k) * 1.7 + turn;
    float height = 1.0 - 2.0 * fract(0.61803399 * float(k) + 0.3);
    float wide = sqrt(1.0 - height * height);
    vec3 way = vec3(wide * cos(angle), height, wide * sin(angle));
    way *= sign(dot(way, n) + 1e-4);
    sum += clear(from + lightScale.z * (0.06 + 0.94 * part * part) * normalize(way + 0.5 * n));
  }
  return sum / float(AROUND);
}

float grain(vec2 pixel) {
  return 6.2831853 * fract(52.9829189 * fract(dot(pixel, vec2(0.06711056, 0.00583715))));
}`;
