/** The camera of a map: center, zoom and rotation. */

export type Vec3 = [number, number, number];
/** Rows of a rotation matrix. */
export type Rotation = [Vec3, Vec3, Vec3];

const IDENTITY: Rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
/** Strength of the perspective in three dimensions, also used by the shader. */
export const PERSPECTIVE = 0.22;

export class Camera {
  center: Vec3 = [0, 0, 0];
  zoom = 1;
  rotation: Rotation = IDENTITY;
  /** Size of the pane in CSS pixels. */
  width = 1;
  height = 1;

  constructor(public is3d = false) {
    this.fit();
  }

  /** CSS pixels per unit of the normalized coordinates. */
  get scale(): number {
    const margin = this.is3d ? 0.36 : 0.46;
    return margin * Math.max(1, Math.min(this.width, this.height)) * this.zoom;
  }

  fit(): void {
    this.center = [0, 0, 0];
    this.zoom = 1;
    this.rotation = this.is3d ? rotated(rotated(IDENTITY, 0.5, 0), 0, 0.35) : IDENTITY;
  }

  /** Copies the view of another camera, but not the size of its pane. */
  follow(other: Camera): void {
    this.center = [...other.center];
    this.zoom = other.zoom;
    if (this.is3d && other.is3d) this.rotation = other.rotation;
  }

  /** Projects a point to CSS pixels and depth; a larger depth is closer to the viewer. */
  project(p: Float32Array, at: number, out: Vec3): Vec3 {
    // Without allocations, because a lasso projects every point.
    const { center, rotation } = this;
    const x = p[at] - center[0];
    const y = p[at + 1] - center[1];
    const z = p[at + 2] - center[2];
    const a = rotation[0];
    const b = rotation[1];
    const c = rotation[2];
    const depth = c[0] * x + c[1] * y + c[2] * z;
    const size = this.is3d ? this.scale * perspectiveScale(depth) : this.scale;
    out[0] = this.width / 2 + size * (a[0] * x + a[1] * y + a[2] * z);
    out[1] = this.height / 2 - size * (b[0] * x + b[1] * y + b[2] * z);
    out[2] = depth;
    return out;
  }

  /** Returns the normalized coordinates of a pixel of a two-dimensional map. */
  unproject(px: number, py: number): [number, number] {
    const { scale } = this;
    return [this.center[0] + (px - this.width / 2) / scale, this.center[1] - (py - this.height / 2) / scale];
  }

  /** Moves the map by CSS pixels. */
  pan(dx: number, dy: number): void {
    const [a, b] = this.rotation;
    for (let c = 0; c < 3; c++) this.center[c] -= (a[c] * dx - b[c] * dy) / this.scale;
  }

  /** Zooms about a pixel. */
  zoomAt(factor: number, px: number, py: number): void {
    const [dx, dy] = [px - this.width / 2, py - this.height / 2];
    this.pan(-dx, -dy);
    this.zoom = Math.min(5000, Math.max(0.1, this.zoom * factor));
    this.pan(dx, dy);
  }

  /** Rotates a three-dimensional map by angles. */
  rotate(dx: number, dy: number): void {
    if (this.is3d) this.rotation = rotated(this.rotation, dx, dy);
  }
}

/** Returns the magnification at a depth. */
export function perspectiveScale(depth: number): number {
  return 1 / Math.max(0.2, 1 - PERSPECTIVE * depth);
}

/** Rotates about the vertical axis of the screen, then about the horizontal axis. */
function rotated(rotation: Rotation, right: number, down: number): Rotation {
  const [c, s, d, e] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
  const [a, b, z] = rotation;
  const x1 = a.map((v, i) => c * v + s * z[i]) as Vec3;
  const z1 = a.map((v, i) => -s * v + c * z[i]) as Vec3;
  return orthonormal([x1, b.map((v, i) => d * v - e * z1[i]) as Vec3, b.map((v, i) => e * v + d * z1[i]) as Vec3]);
}

/** Removes the rounding errors that accumulate over many rotations. */
function orthonormal([a, b]: Rotation): Rotation {
  const x = unit(a);
  const along = x[0] * b[0] + x[1] * b[1] + x[2] * b[2];
  const y = unit(b.map((v, i) => v - along * x[i]) as Vec3);
  return [x, y, [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]];
}

function unit(v: Vec3): Vec3 {
  const length = Math.hypot(...v);
  return [v[0] / length, v[1] / length, v[2] / length];
}
