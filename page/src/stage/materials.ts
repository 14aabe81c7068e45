// Surfaces under a hemisphere of light, a key and a rim: one shader of our own, in two ways. `fine`: light is found for every
// pixel, with shadows by the light's own picture. Otherwise it is found at the vertices, which are dense, with shadows that
// come with them: without a graphics card every instruction for a pixel counts.

import { Color, DoubleSide, FrontSide, ShaderMaterial, Vector2, type Texture } from "three";

import type { FabricLook } from "./fabrics";
import { LIGHTING, SEEN, type Light } from "./light";
import { weaveTexture } from "./weave";

const SCREEN = /* glsl */ `
vec3 screen(vec3 light) {
  return min(1.055 * pow(max(light, 0.0), vec3(1.0 / 2.4)) - 0.055, 1.0);
}`;

const VERTEX = /* glsl */ `
${LIGHTING}
#ifdef FINE
${SEEN}
varying vec3 vPlace;
varying vec3 vNormal;
varying float vOpen;
#else
attribute vec2 shade;
varying vec2 vLight; // in front and behind: it is nearly white, and two numbers are quicker than six
#endif
#ifdef COLOURED
attribute vec4 tint;
#ifdef FLAT
flat varying vec3 vTint;
#else
varying vec3 vTint;
#endif
#endif
#ifdef CLOTH
attribute vec3 cloth;
varying vec3 vCloth;
uniform float repeat;
#endif
uniform float farther;
uniform float calm;
uniform float thin;
uniform float sheen;

void main() {
  gl_Position = projectionMatrix * viewMatrix * vec4(cameraPosition + farther * (position - cameraPosition), 1.0);
  vec3 n = normalize(normal);
  #ifdef FINE
    vPlace = position;
    vNormal = n;
    vec3 eye = cameraPosition - position;
    vec3 towards = n;
    #ifdef TWO_SIDED
      towards *= sign(dot(n, eye));
    #endif
    #ifdef DENSE
      vOpen = skySeen(position, towards, key, 0.0);
    #else
      vOpen = 1.0;
    #endif
  #else
    vec3 eye = normalize(cameraPosition - position);
    vec2 seen = mix(shade, vec2(1.0), calm);
    vLight = vec2(lightOn(n, eye, seen.x, seen.y, thin, sheen), 1.0);
    #ifdef TWO_SIDED
      vLight.y = 0.8 * lightOn(-n, eye, seen.x, 0.6 * seen.y, thin, sheen);
    #endif
    vLight = sqrt(vLight); // nearly what a screen makes of it
  #endif
  #ifdef COLOURED
    vTint = tint.rgb;
  #endif
  #ifdef CLOTH
    vCloth = vec3(cloth.xy / repeat, cloth.z);
  #endif
}`;

const FRAGMENT = /* glsl */ `
${SCREEN}
${LIGHTING}
#ifdef FINE
${SEEN}
varying vec3 vPlace;
varying vec3 vNormal;
varying float vOpen;
uniform float relief;
uniform float gloss;
#else
varying vec2 vLight;
#endif
#ifdef COLOURED
#ifdef FLAT
flat varying vec3 vTint;
#else
varying vec3 vTint;
#endif
#endif
#ifdef CLOTH
varying vec3 vCloth;
uniform sampler2D weave;
uniform vec2 hem; // width of the hem and of its seam (m)
uniform float contrast;
#endif
uniform vec3 base;
uniform vec3 second;
uniform float calm;
uniform float thin;
uniform float sheen;

void main() {
  // Colours as the screen has them; light is multiplied as its square root or made of their squares.
  #ifdef COLOURED
    vec3 colour = vTint;
  #else
    vec3 colour = base;
  #endif
  #ifdef CLOTH
    #ifdef FINE
      vec4 thread = texture2D(weave, vCloth.xy, 0.6); // threads of a pixel's width would make stripes of their own
    #else
      vec4 thread = texture2D(weave, vCloth.xy);
    #endif
    vec3 other = mix(colour, second, contrast);
    colour = mix(other, colour, thread.r) * (0.72 + 0.56 * thread.g);
    #ifdef FINE
      float soft = fwidth(vCloth.z);
      float seam = 1.0 - smoothstep(hem.y, hem.y + soft, abs(vCloth.z - hem.x));
      float fold = 1.0 - smoothstep(hem.x, hem.x + soft, vCloth.z);
      colour *= 1.0 - 0.06 * fold - 0.2 * seam * min(1.0, 2.0 * hem.y / max(soft, 1e-6));
    #else
      colour *= 0.84 + 0.16 * min(abs(vCloth.z - hem.x) / (2.5 * hem.y), 1.0);
    #endif
  #endif
  #ifdef FINE
    float side = gl_FrontFacing ? 1.0 : -1.0;
    vec3 n = side * normalize(vNormal);
    vec3 eye = normalize(cameraPosition - vPlace);
    vec3 bumped = n;
    #ifdef CLOTH
      vec3 px = dFdx(vPlace), py = dFdy(vPlace);
      vec2 tx = dFdx(vCloth.xy), ty = dFdy(vCloth.xy);
      float turn = tx.x * ty.y - tx.y * ty.x;
      vec3 along = (px * ty.y - py * tx.y) * sign(turn), across = (py * tx.x - px * ty.x) * sign(turn);
      vec2 lean = relief * (thread.ba * 2.0 - 1.0);
      bumped = normalize(n + lean.x * along / max(length(along), 1e-9) + lean.y * across / max(length(across), 1e-9));
    #endif
    float spin = grain(gl_FragCoord.xy);
    float visible = keySeen(vPlace, n, key, lightScale.w, spin);
    #ifdef DENSE
      float open = vOpen;
    #else
      float open = skySeen(vPlace, n, key, spin);
    #endif
    visible = mix(visible, 1.0, calm);
    open = mix(open, 1.0, calm);
    vec3 light = lightOn(bumped, eye, visible, open, thin, sheen);
    float shine = pow(max(dot(bumped, normalize(eye + key)), 0.0), 40.0) * gloss * visible;
    vec3 albedo = colour * colour * (0.3 + 0.7 * colour); // light of these sRGB values, nearly
    if (side < 0.0) albedo *= 0.88;
    gl_FragColor = vec4(screen(albedo * light + shine), 1.0);
  #else
    #ifdef TWO_SIDED
      float light = gl_FrontFacing ? vLight.x : vLight.y;
    #else
      float light = vLight.x;
    #endif
    gl_FragColor = vec4(colour * light, 1.0);
  #endif
}`;

export interface SurfaceOptions {
  /** Light for every pixel instead of every vertex. */
  fine: boolean;
  /** By the vertices' own colours; `flat`: each triangle in that of its last vertex, since numbers do not mix. */
  coloured?: "smooth" | "flat" | undefined;
  twoSided: boolean;
  /** With threads and a hem. */
  cloth?: boolean;
  /** Vertices are so close that the light of the sky may be found there. */
  dense?: boolean;
  /** Colours that mean something: shadows take away less from them. */
  calm?: boolean;
  /** Seen in the same place, but so many times as far away: what lies on it then hides it. */
  farther?: number;
}

export function surfaceMaterial(light: Light, options: SurfaceOptions): ShaderMaterial {
  const { fine, coloured, twoSided, cloth, dense, calm, farther = 1 } = options;
  return new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    defines: {
      TAPS: 16,
      AROUND: dense ? 20 : 12,
      ...(fine && { FINE: "" }),
      ...(coloured && { COLOURED: "" }),
      ...(coloured === "flat" && { FLAT: "" }),
      ...(twoSided && { TWO_SIDED: "" }),
      ...(cloth && { CLOTH: "" }),
      ...(dense && { DENSE: "" }),
    },
    side: twoSided ? DoubleSide : FrontSide,
    uniforms: {
      ...light.uniforms,
      base: { value: new Color() },
      second: { value: new Color() },
      contrast: { value: 1 },
      weave: { value: null as Texture | null },
      repeat: { value: 1 },
      hem: { value: new Vector2(0.012, 0.001) },
      relief: { value: 0 },
      thin: { value: 0 },
      sheen: { value: 0 },
      gloss: { value: 0 },
      calm: { value: calm ? 0.6 : 0 },
      farther: { value: farther },
    },
  });
}

/** A colour as the screen shows it, which the shader takes. */
export function paint(material: ShaderMaterial, colour: Color): void {
  material.uniforms.base.value.copy(colour).convertLinearToSRGB();
}

/** Threads, hem and shine of a fabric. `size`: of the cloth (m); `own`: bodies have colours of their own. */
export function weaveInto(material: ShaderMaterial, fabric: FabricLook, second: Color, size: number, own: boolean): void {
  const { uniforms } = material;
  uniforms.second.value.copy(second).convertLinearToSRGB();
  uniforms.contrast.value = own ? 0.45 : 1;
  uniforms.weave.value = weaveTexture(fabric.pattern, material.defines.FINE !== undefined);
  uniforms.repeat.value = fabric.repeat ?? Math.max(size / 10, 0.01);
  uniforms.hem.value.set(Math.min(0.016 * size, 0.03), 0.0009 * size);
  uniforms.relief.value = fabric.relief;
  uniforms.thin.value = fabric.thin;
  uniforms.sheen.value = fabric.sheen;
  uniforms.gloss.value = fabric.gloss;
}
