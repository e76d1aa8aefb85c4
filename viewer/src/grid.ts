/** A grid for finding the nearest point of a two-dimensional map. */

/** Points grouped by cells; positions have three coordinates per point. */
export class PointGrid {
  private readonly starts: Uint32Array;
  private readonly points: Uint32Array;
  private readonly side: number;
  private readonly low: [number, number];
  private readonly cell: [number, number];

  constructor(private readonly positions: Float32Array) {
    const n = positions.length / 3;
    this.side = Math.max(1, Math.min(2048, Math.ceil(Math.sqrt(n / 2))));
    const low: [number, number] = [Infinity, Infinity];
    const high = [-Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      for (let c = 0; c < 2; c++) {
        low[c] = Math.min(low[c], positions[3 * i + c]);
        high[c] = Math.max(high[c], positions[3 * i + c]);
      }
    }
    this.low = low;
    this.cell = [0, 1].map((c) => (high[c] - low[c]) / this.side || 1) as [number, number];
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < n; i++) this.starts[this.cellOf(i) + 1]++;
    for (let c = 0; c < this.side * this.side; c++) this.starts[c + 1] += this.starts[c];
    this.points = new Uint32Array(n);
    const next = this.starts.slice();
    for (let i = 0; i < n; i++) this.points[next[this.cellOf(i)]++] = i;
  }

  private column(c: 0 | 1, value: number): number {
    return Math.max(0, Math.min(this.side - 1, Math.floor((value - this.low[c]) / this.cell[c])));
  }

  private cellOf(i: number): number {
    return this.column(1, this.positions[3 * i + 1]) * this.side + this.column(0, this.positions[3 * i]);
  }

  /** Returns the nearest accepted point within a radius, or -1; the lower index wins a tie. */
  nearest(x: number, y: number, radius: number, accept: (point: number) => boolean): number {
    let best = -1;
    let minDistance = radius * radius;
    const [left, right] = [this.column(0, x - radius), this.column(0, x + radius)];
    const [bottom, top] = [this.column(1, y - radius), this.column(1, y + radius)];
    for (let row = bottom; row <= top; row++) {
      const end = this.starts[row * this.side + right + 1];
      for (let at = this.starts[row * this.side + left]; at < end; at++) {
        const i = this.points[at];
        const [dx, dy] = [this.positions[3 * i] - x, this.positions[3 * i + 1] - y];
        const distance = dx * dx + dy * dy;
        if ((distance < minDistance || (distance === minDistance && (best < 0 || i < best))) && accept(i)) {
          minDistance = distance;
          best = i;
        }
      }
    }
    return best;
  }
}
