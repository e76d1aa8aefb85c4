/** Colours of classes and numbers, on a light and on a dark ground. */

import type { Column, Dataset, MapData } from "./dataset";
import { recall } from "./dataset";

export type Rgb = [number, number, number];
export type Theme = "light" | "dark";

/** The same as the pictures use (color.rs): Okabe and Ito's, then the farthest from all before, also for the colour-blind. */
export const LIGHT = [
  0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x520514, 0x05058f, 0x6105fa, 0x61eb9e, //
  0x055205, 0x9e0580, 0xeb14fa, 0x705252, 0x8f61db, 0x053342, 0x520570, 0xfa1461, 0xad0524, 0xfa80fa,
];
/** Made in the same way, of colours that are seen on a dark ground. */
export const DARK = [
  0x56b4e9, 0xe8793a, 0x2fc08f, 0xd98fc0, 0xf0d442, 0x7d8cff, 0xbf0dbf, 0x8cffff, 0x4c7f7f, 0xd90d4c, //
  0x0dff7f, 0xffcccc, 0x7f40ff, 0x9966a6, 0xff40cc, 0x0da60d, 0xb2b20d, 0xb2590d, 0xbfbfff, 0x999973,
];

/** Low to high: lightness changes all the way, away from the ground. */
const RAMPS: Record<Theme, number[]> = {
  light: [0xd9c85a, 0x8fc06a, 0x3fa58b, 0x2b7d96, 0x364f8c, 0x2c1650],
  dark: [0x3d3a8c, 0x2f6fa8, 0x2a9d9a, 0x5cc282, 0xb5dc62, 0xfdf0a0],
};

export const GROUND: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [21, 23, 28] };
const REST: Record<Theme, number> = { light: 0xb9bcc2, dark: 0x5c616b };
const PLAIN: Record<Theme, number> = { light: 0x2f6fb0, dark: 0x7fb8ee };

export const rgb = (hex: number): Rgb => [(hex >> 16) & 255, (hex >> 8) & 255, hex & 255];
export const css = ([r, g, b]: Rgb) => `rgb(${r} ${g} ${b})`;

export function ramp(t: number, theme: Theme): Rgb {
  const stops = RAMPS[theme];
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [rgb(stops[low]), rgb(stops[low + 1])];
  return a.map((v, c) => Math.round(v + (b[c] - v) * (at - low))) as Rgb;
}

/** What the points are coloured by. */
export type Mode = { by: "none" } | { by: "std" } | { by: "recall" } | { by: "column"; column: number };

/** A coloring of one map: a colour for each point, and what explains it. */
export type Coloring =
  | { kind: "plain"; color: (point: number) => Rgb }
  | { kind: "class"; column: Extract<Column, { kind: "class" }>; swatches: Rgb[]; color: (point: number) => Rgb }
  | { kind: "number"; name: string; low: number; middle: number; high: number; color: (point: number) => Rgb };

export function coloring(data: Dataset, map: MapData | null, mode: Mode, theme: Theme): Coloring {
  const plain: Coloring = { kind: "plain", color: () => rgb(PLAIN[theme]) };
  // One scale for all maps: they are compared.
  const stds = data.maps.flatMap(({ std }) => (std ? [std] : []));
  if (mode.by === "std") return map?.std ? numbers("std", map.std, theme, stds) : plain;
  if (mode.by === "recall") return map?.kept && data.neighbors ? recalls(map, data.neighbors.k, theme) : plain;
  if (mode.by === "none") return plain;
  const column = data.columns[mode.column];
  if (column.kind === "number") return numbers(column.name, column.values, theme);
  const swatches = swatchesOf(column.counts, theme);
  return { kind: "class", column, swatches, color: (point) => swatches[column.codes[point]] };
}

/** The largest classes have colours, the rest are grey. */
export function swatchesOf(counts: Uint32Array, theme: Theme): Rgb[] {
  const palette = theme === "light" ? LIGHT : DARK;
  const bySize = Array.from(counts.keys()).filter((code) => counts[code] > 0);
  bySize.sort((a, b) => counts[b] - counts[a] || a - b);
  const colored = bySize.slice(0, palette.length).sort((a, b) => a - b);
  const swatches: Rgb[] = Array.from(counts, () => rgb(REST[theme]));
  colored.forEach((code, at) => (swatches[code] = rgb(palette[at])));
  return swatches;
}

function recalls(map: MapData, k: number, theme: Theme): Coloring {
  const table = Array.from({ length: k + 1 }, (_, kept) => ramp(kept / k, theme));
  const color = (point: number) => table[Math.round(recall(map, k, point) * k)];
  return { kind: "number", name: "neighbours kept", low: 0, middle: 0.5, high: 1, color };
}

/**
 * Even steps between the 2nd and the 98th percentile: a few extreme values do not grey out the rest. Numbers above zero that
 * span orders of magnitude are shown by their logarithms, as in pictures (scale.rs).
 */
function numbers(name: string, values: Float32Array, theme: Theme, all = [values]): Coloring {
  const finite = all.map((each) => each.filter((v) => Number.isFinite(v)));
  const sorted = new Float32Array(finite.reduce((sum, each) => sum + each.length, 0));
  finite.reduce((at, each) => (sorted.set(each, at), at + each.length), 0);
  sorted.sort();
  const at = (share: number) => (sorted.length ? sorted[Math.round(share * (sorted.length - 1))] : 0);
  const [low, high] = at(0.98) > at(0.02) ? [at(0.02), at(0.98)] : [at(0), at(1)];
  const skewed = at(0) > 0 && at(0.99) > 8 * at(0.5);
  const shown = skewed ? Math.log : (value: number) => value;
  const table = Array.from({ length: 256 }, (_, step) => ramp(step / 255, theme));
  const missing = rgb(REST[theme]);
  const scale = high > low ? 255 / (shown(high) - shown(low)) : 0;
  const color = (point: number) => {
    if (!Number.isFinite(values[point])) return missing;
    const step = Math.round((shown(values[point]) - shown(low)) * scale);
    return table[Math.min(255, Math.max(0, step))];
  };
  return { kind: "number", name, low, middle: skewed ? Math.sqrt(low * high) : (low + high) / 2, high, color };
}
