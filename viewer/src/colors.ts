/** Colors of classes and numbers on light and dark backgrounds. */

import type { Column, Dataset, MapData } from "./dataset";
import { recall } from "./dataset";
import { asClasses, reliability } from "./reliability";

export type Rgb = [number, number, number];
export type Theme = "light" | "dark";

/** The same as in pictures (color.rs): the palette of Okabe and Ito, extended for all kinds of color vision. */
export const LIGHT_PALETTE = [
  0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x520514, 0x05058f, 0x6105fa, 0x61eb9e, //
  0x055205, 0x9e0580, 0xeb14fa, 0x705252, 0x8f61db, 0x053342, 0x520570, 0xfa1461, 0xad0524, 0xfa80fa,
];
/** Chosen in the same way for a dark background. */
export const DARK_PALETTE = [
  0x56b4e9, 0xe8793a, 0x2fc08f, 0xd98fc0, 0xf0d442, 0x7d8cff, 0xbf0dbf, 0x8cffff, 0x4c7f7f, 0xd90d4c, //
  0x0dff7f, 0xffcccc, 0x7f40ff, 0x9966a6, 0xff40cc, 0x0da60d, 0xb2b20d, 0xb2590d, 0xbfbfff, 0x999973,
];

/** Colors from low to high values, with monotonic lightness. */
const RAMPS: Record<Theme, number[]> = {
  light: [0xd9c85a, 0x8fc06a, 0x3fa58b, 0x2b7d96, 0x364f8c, 0x2c1650],
  dark: [0x3d3a8c, 0x2f6fa8, 0x2a9d9a, 0x5cc282, 0xb5dc62, 0xfdf0a0],
};

export const BACKGROUND: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [21, 23, 28] };
const MISSING: Record<Theme, number> = { light: 0xb9bcc2, dark: 0x5c616b };
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

/** What points are colored by. */
export type ColorMode = { by: "none" } | { by: "std" } | { by: "recall" } | { by: "column"; column: number } | { by: "reliability"; name: string };

/** Colors of the points of a map, and the data of the legend. */
export type Coloring =
  | { kind: "plain"; color: (point: number) => Rgb }
  | { kind: "class"; column: Extract<Column, { kind: "class" }>; swatches: Rgb[]; color: (point: number) => Rgb }
  | { kind: "number"; name: string; low: number; middle: number; high: number; color: (point: number) => Rgb };

export function createColoring(data: Dataset, map: MapData | null, mode: ColorMode, theme: Theme): Coloring {
  const plain: Coloring = { kind: "plain", color: () => rgb(PLAIN[theme]) };
  // All maps share one scale, so that they can be compared.
  const stds = data.maps.flatMap(({ std }) => (std ? [std] : []));
  if (mode.by === "std") return map?.std ? numberColoring("std", map.std, theme, stds) : plain;
  if (mode.by === "recall") return map?.kept && data.neighbors ? recallColoring(map, data.neighbors.k, theme) : plain;
  if (mode.by === "none") return plain;
  if (mode.by === "reliability") return reliabilityColoring(data, map, mode.name, theme) ?? plain;
  const column = data.columns[mode.column];
  if (column.kind === "number") return numberColoring(column.name, column.values, theme);
  return classColoring(column, theme);
}

function classColoring(column: Extract<Column, { kind: "class" }>, theme: Theme): Coloring {
  const swatches = classColors(column.counts, theme);
  return { kind: "class", column, swatches, color: (point) => swatches[column.codes[point]] };
}

/** Colors by a column of reliability; all maps share one scale, or one set of classes. */
function reliabilityColoring(data: Dataset, map: MapData | null, name: string, theme: Theme): Coloring | null {
  const column = reliability(map, name);
  if (!column) return null;
  const classes = asClasses(column, data.maps);
  if (classes) return classColoring(classes, theme);
  const all = data.maps.flatMap((each) => reliability(each, name)?.values ?? []);
  return numberColoring(name, column.values, theme, all);
}

/** Returns the color of each class; only the largest classes have colors, the others are gray. */
export function classColors(counts: Uint32Array, theme: Theme): Rgb[] {
  const palette = theme === "light" ? LIGHT_PALETTE : DARK_PALETTE;
  const bySize = Array.from(counts.keys()).filter((code) => counts[code] > 0);
  bySize.sort((a, b) => counts[b] - counts[a] || a - b);
  const colored = bySize.slice(0, palette.length).sort((a, b) => a - b);
  const swatches: Rgb[] = Array.from(counts, () => rgb(MISSING[theme]));
  colored.forEach((code, at) => (swatches[code] = rgb(palette[at])));
  return swatches;
}

function recallColoring(map: MapData, k: number, theme: Theme): Coloring {
  const table = Array.from({ length: k + 1 }, (_, kept) => ramp(kept / k, theme));
  const color = (point: number) => table[Math.round(recall(map, k, point) * k)];
  return { kind: "number", name: "neighbors kept", low: 0, middle: 0.5, high: 1, color };
}

/**
 * Colors by value between the 2nd and the 98th percentile, so that outliers do not compress the scale. Positive values over several
 * orders of magnitude are on a logarithmic scale, as in pictures (color_scale.rs).
 */
function numberColoring(name: string, values: Float32Array, theme: Theme, all = [values]): Coloring {
  const finite = all.map((each) => each.filter((v) => Number.isFinite(v)));
  const sorted = new Float32Array(finite.reduce((sum, each) => sum + each.length, 0));
  finite.reduce((at, each) => (sorted.set(each, at), at + each.length), 0);
  sorted.sort();
  const quantile = (q: number) => (sorted.length ? sorted[Math.round(q * (sorted.length - 1))] : 0);
  const [low, high] = quantile(0.98) > quantile(0.02) ? [quantile(0.02), quantile(0.98)] : [quantile(0), quantile(1)];
  const skewed = quantile(0) > 0 && quantile(0.99) > 8 * quantile(0.5);
  const transform = skewed ? Math.log : (value: number) => value;
  const table = Array.from({ length: 256 }, (_, step) => ramp(step / 255, theme));
  const missing = rgb(MISSING[theme]);
  const scale = high > low ? 255 / (transform(high) - transform(low)) : 0;
  const color = (point: number) => {
    if (!Number.isFinite(values[point])) return missing;
    const step = Math.round((transform(values[point]) - transform(low)) * scale);
    return table[Math.min(255, Math.max(0, step))];
  };
  return { kind: "number", name, low, middle: skewed ? Math.sqrt(low * high) : (low + high) / 2, high, color };
}
