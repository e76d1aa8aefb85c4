/** Determines which points are drawn, their order and their colors. */

import type { ColorMode } from "./colors";
import type { Column, Dataset, MapData } from "./dataset";
import { asClasses, reliability } from "./reliability";
import type { State } from "./store";

/** Returns a fixed random order, so that no class covers the others because of its position in the file, and any prefix is a sample. */
export function shuffledOrder(rows: number): Uint32Array {
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  let state = 0x9e3779b9;
  for (let i = rows - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Returns the largest standard deviation that is shown if a percentage of the points is hidden. */
export function stdThreshold(std: Float32Array, hide: number): number {
  if (hide <= 0) return Infinity;
  const sorted = std.slice().sort();
  return sorted[Math.max(0, Math.ceil((sorted.length * (100 - hide)) / 100) - 1)];
}

/** Returns a function that tells whether a point is visible. */
export function visibility(data: Dataset, map: MapData, state: State): (point: number) => boolean {
  const std = map.std ?? data.maps.find((other) => other.std)?.std ?? null;
  const maxStd = std ? stdThreshold(std, state.hide) : Infinity;
  const isCertain = (point: number) => !std || maxStd === Infinity || std[point] <= maxStd;
  const column = shownColumn(data, map, state.mode);
  const { hiddenClasses } = state;
  if (column?.kind !== "class" || hiddenClasses.size === 0) return isCertain;
  return (point) => !hiddenClasses.has(column.codes[point]) && isCertain(point);
}

/** Returns the column that points are colored by, if it is one. */
function shownColumn(data: Dataset, map: MapData, mode: ColorMode): Column | null {
  if (mode.by === "column") return data.columns[mode.column];
  const column = mode.by === "reliability" ? reliability(map, mode.name) : null;
  return column && asClasses(column, data.maps);
}

/** Returns the visible points in drawing order, with selected points last. */
export function drawOrder(order: Uint32Array, shown: (point: number) => boolean, state: State): Uint32Array {
  const flags = state.selection?.flags;
  const out = new Uint32Array(order.length);
  let count = 0;
  for (const point of order) if (!flags?.[point] && shown(point)) out[count++] = point;
  if (flags) for (const point of order) if (flags[point] && shown(point)) out[count++] = point;
  return out.subarray(0, count);
}

/** Returns red, green, blue and opacity of every point; points outside of the selection are faint. */
export function pointColors(
  rows: number,
  color: (point: number) => number[],
  opacity: number,
  state: State,
  hollow: Float32Array | null = null,
): Uint8Array {
  const colors = new Uint8Array(4 * rows);
  const flags = state.selection?.flags;
  const [strong, faint] = [Math.round(255 * (flags ? Math.max(opacity, 0.8) : opacity)), Math.round(255 * 0.1)];
  for (let i = 0; i < rows; i++) {
    const [r, g, b] = color(i);
    colors[4 * i] = r;
    colors[4 * i + 1] = g;
    colors[4 * i + 2] = b;
    // A hollow point is a ring, drawn separately, around a faint one.
    colors[4 * i + 3] = (flags && !flags[i]) || (hollow && hollow[i] > 0) ? faint : strong;
  }
  return colors;
}

/** Whether a position lies inside a polygon, by the even-odd rule. */
export function isInside(x: number, y: number, line: readonly (readonly [number, number])[]): boolean {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) odd = !odd;
  }
  return odd;
}
