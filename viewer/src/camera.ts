/** Where the eye is: what part of a map is seen, how large, from which side. */

export type Vec3 = [number, number, number];
/** Rows of a rotation. */
export type Turn = [Vec3, Vec3, Vec3];

const FLAT: Turn = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
/** How much nearer points of a turned map are larger; the same number is in the shader. */
export const PERSPECTIVE = 0.22;

export class Camera {
  center: Vec3 = [0, 0, 0];
  zoom = 1;
  turn: Turn = FLAT;
  /** Size of the pane in pixels of the page. */
  width = 1;
  height = 1;

  constructor(public deep = false) {
    this.fit();
  }

  /** Pixels for one unit of drawn coordinates. */
  get scale(): number {
    const margin = this.deep ? 0.36 : 0.46;
    return margin * Math.max(1, Math.min(this.width, this.height)) * this.zoom;
  }

  fit(): void {
    this.center = [0, 0, 0];
    this.zoom = 1;
    this.turn = this.deep ? turned(turned(FLAT, 0.5, 0), 0, 0.35) : FLAT;
  }

  /** Takes over where another camera looks, not the size of its pane. */
  follow(other: Camera): void {
    this.center = [...other.center];
    this.zoom = other.zoom;
    if (this.deep && other.deep) this.turn = other.turn;
  }

  /** Pixels from the pane's left and top, and depth towards the eye. */
  project(p: Float32Array, at: number, out: Vec3): Vec3 {
    // Plain numbers: this runs for every point of a lasso.
    const { center, turn } = this;
    const x = p[at] - center[0];
    const y = p[at + 1] - center[1];
    const z = p[at + 2] - center[2];
    const a = turn[0];
    const b = turn[1];
    const c = turn[2];
    const depth = c[0] * x + c[1] * y + c[2] * z;
    const size = this.deep ? this.scale * nearness(depth) : this.scale;
    out[0] = this.width / 2 + size * (a[0] * x + a[1] * y + a[2] * z);
    out[1] = this.height / 2 - size * (b[0] * x + b[1] * y + b[2] * z);
    out[2] = depth;
    return out;
  }

  /** Of a flat map: drawn coordinates of a pixel. */
  unproject(px: number, py: number): [number, number] {
    const { scale } = this;
    return [this.center[0] + (px - this.width / 2) / scale, this.center[1] - (py - this.height / 2) / scale];
  }

  /** Moves the map by pixels. */
  pan(dx: number, dy: number): void {
    const [a, b] = this.turn;
    for (let c = 0; c < 3; c++) this.center[c] -= (a[c] * dx - b[c] * dy) / this.scale;
  }

  /** Zooms so that what is under a pixel stays there. */
  zoomAt(factor: number, px: number, py: number): void {
    const [dx, dy] = [px - this.width / 2, py - this.height / 2];
    this.pan(-dx, -dy);
    this.zoom = Math.min(5000, Math.max(0.1, this.zoom * factor));
    this.pan(dx, dy);
  }

  rotate(dx: number, dy: number): void {
    if (this.deep) this.turn = turned(this.turn, dx, dy);
  }
}

/** How much larger things at this depth are. */
export function nearness(depth: number): number {
  return 1 / Math.max(0.2, 1 - PERSPECTIVE * depth);
}

/** Turned about the vertical axis of the screen, then about the horizontal one. */
function turned(turn: Turn, right: number, down: number): Turn {
  const [c, s, d, e] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
  const [a, b, z] = turn;
  const x1 = a.map((v, i) => c * v + s * z[i]) as Vec3;
  const z1 = a.map((v, i) => -s * v + c * z[i]) as Vec3;
  return orthonormal([x1, b.map((v, i) => d * v - e * z1[i]) as Vec3, b.map((v, i) => e * v + d * z1[i]) as Vec3]);
}

/** Many small turns leave a rotation slowly; this brings it back. */
function orthonormal([a, b]: Turn): Turn {
  const x = unit(a);
  const along = x[0] * b[0] + x[1] * b[1] + x[2] * b[2];
  const y = unit(b.map((v, i) => v - along * x[i]) as Vec3);
  return [x, y, [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]];
}

function unit(v: Vec3): Vec3 {
  const length = Math.hypot(...v);
  return [v[0] / length, v[1] / length, v[2] / length];
}
