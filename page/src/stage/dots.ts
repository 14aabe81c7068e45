// Round marks of a size in pixels.

import { Color, ShaderMaterial } from "three";

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
