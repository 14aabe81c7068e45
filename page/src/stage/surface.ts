// Positions and normals of a surface, in flat arrays that are made once: this runs for every vertex of every frame.

/** low + scale × value for each axis; float32 positions are taken as they are. */
export function decode(
  from: Uint16Array | Float32Array,
  low: readonly number[],
  scale: readonly number[],
  to: Float32Array,
): void {
  if (from instanceof Float32Array) {
    to.set(from);
    return;
  }
  const x0 = low[0], y0 = low[1], z0 = low[2];
  const sx = scale[0], sy = scale[1], sz = scale[2];
  for (let k = 0; k < to.length; k += 3) {
    to[k] = x0 + sx * from[k];
    to[k + 1] = y0 + sy * from[k + 1];
    to[k + 2] = z0 + sz * from[k + 2];
  }
}

/** Sums of the faces' normals, which makes large faces count more. Not of length one: the shader sees to that. */
export function vertexNormals(positions: Float32Array, triangles: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  for (let k = 0; k < triangles.length; k += 3) {
    const a = 3 * triangles[k];
    const b = 3 * triangles[k + 1];
    const c = 3 * triangles[k + 2];
    const ax = positions[a], ay = positions[a + 1], az = positions[a + 2];
    const ux = positions[b] - ax, uy = positions[b + 1] - ay, uz = positions[b + 2] - az;
    const vx = positions[c] - ax, vy = positions[c + 1] - ay, vz = positions[c + 2] - az;
    const nx = uy * vz - uz * vy;
    const ny = uz * vx - ux * vz;
    const nz = ux * vy - uy * vx;
    normals[a] += nx;
    normals[a + 1] += ny;
    normals[a + 2] += nz;
    normals[b] += nx;
    normals[b + 1] += ny;
    normals[b + 2] += nz;
    normals[c] += nx;
    normals[c + 1] += ny;
    normals[c + 2] += nz;
  }
}

/** Bytes through a table of 256 × RGB into four bytes a vertex. */
export function colourise(values: Uint8Array, table: Uint8Array, rgba: Uint8Array): void {
  for (let k = 0, to = 0; k < values.length; k++, to += 4) {
    const from = 3 * values[k];
    rgba[to] = table[from];
    rgba[to + 1] = table[from + 1];
    rgba[to + 2] = table[from + 2];
  }
}

/** The same triangles, turned so that nearly every vertex is the last of one: flat colours are the last vertex's. */
export function sharedOut(triangles: Uint32Array, vertices: number): Uint32Array {
  const turned = new Uint32Array(triangles.length);
  const times = new Uint8Array(vertices);
  for (let k = 0; k < triangles.length; k += 3) {
    let last = 0;
    for (let corner = 1; corner < 3; corner++) {
      if (times[triangles[k + corner]] < times[triangles[k + last]]) last = corner;
    }
    for (let corner = 0; corner < 3; corner++) turned[k + corner] = triangles[k + ((last + 1 + corner) % 3)];
    times[triangles[k + last]] += 1;
  }
  return turned;
}
