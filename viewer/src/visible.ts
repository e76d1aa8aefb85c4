/** Which points are drawn, and in which order. */

import type { Dataset, MapData } from "./dataset";
import type { State } from "./store";

/** A fixed shuffle: no class lies over another because of its place in the file, and every beginning is a fair sample. */
export function shuffled(rows: number): Uint32Array {
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  let state = 0x9e3779b9;
  for (let i = rows - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** The largest standard deviation that is still shown when this share of the points is hidden. */
export function threshold(std: Float32Array, hide: number): number {
  if (hide <= 0) return Infinity;
  const sorted = std.slice().sort();
  return sorted[Math.max(0, Math.ceil((sorted.length * (100 - hide)) / 100) - 1)];
}

/** Tells of a point whether it is shown. */
export function visibility(data: Dataset, map: MapData, state: State): (point: number) => boolean {
  const std = map.std ?? data.maps.find((other) => other.std)?.std ?? null;
  const most = std ? threshold(std, state.hide) : Infinity;
  const certain = (point: number) => !std || most === Infinity || std[point] <= most;
  const column = state.mode.by === "column" ? data.columns[state.mode.column] : null;
  const { off } = state;
  if (column?.kind !== "class" || off.size === 0) return certain;
  return (point) => !off.has(column.codes[point]) && certain(point);
}

/** The shown points in the order they are drawn, chosen ones last. */
export function drawn(order: Uint32Array, shown: (point: number) => boolean, state: State): Uint32Array {
  const flags = state.selection?.flags;
  const out = new Uint32Array(order.length);
  let count = 0;
  for (const point of order) if (!flags?.[point] && shown(point)) out[count++] = point;
  if (flags) for (const point of order) if (flags[point] && shown(point)) out[count++] = point;
  return out.subarray(0, count);
}

/** Red, green, blue, opacity of every point; those not chosen step back. */
export function painted(rows: number, color: (point: number) => number[], opacity: number, state: State): Uint8Array {
  const colors = new Uint8Array(4 * rows);
  const flags = state.selection?.flags;
  const [strong, weak] = [Math.round(255 * (flags ? Math.max(opacity, 0.8) : opacity)), Math.round(255 * 0.1)];
  for (let i = 0; i < rows; i++) {
    const [r, g, b] = color(i);
    colors[4 * i] = r;
    colors[4 * i + 1] = g;
    colors[4 * i + 2] = b;
    colors[4 * i + 3] = flags && !flags[i] ? weak : strong;
  }
  return colors;
}

/** Whether a place lies inside a closed line, by the even-odd rule. */
export function inside(x: number, y: number, line: readonly (readonly [number, number])[]): boolean {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) odd = !odd;
  }
  return odd;
}
