/** Colors of classes and numbers on light and dark backgrounds. */

import type { Column, Dataset, MapData } from "./dataset";
import { recall } from "./dataset";
import { asClasses, reliability } from "./reliability";

export type Rgb = [number, number, number];
export type Theme = "light" | "dark";

/** The colors of the page, which are those of pictures (palette.rs); each for a light and for a dark background. */
export interface Palette {
  /** Colors of classes in the order of the legend. */
  classes: Record<Theme, number[]>;
  /** Colors of the classes with these names. */
  named: Record<string, Record<Theme, number>>;
  /** Colors of a scale at equal distances, from low to high values. */
  scale: Record<Theme, number[]>;
  /** Whether values are placed around zero. */
  diverging: boolean;
  /** Color of what is not known, and of the classes that are not in the legend. */
  missing: Record<Theme, number>;
}

let palette: Palette = {
  classes: { light: [], dark: [] },
  named: {},
  scale: { light: [0], dark: [0] },
  diverging: false,
  missing: { light: 0xc4c6ca, dark: 0x5c5f66 },
};

/** Sets the colors of the page. */
export function usePalette(colors: Palette): void {
  palette = colors;
}

export const BACKGROUND: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [21, 23, 28] };
/** Names of classes of points whose class is not known, as in pictures. */
const UNKNOWN = new Set(["", "nan", "na", "n/a", "null", "none", "unknown", "unassigned", "unlabeled", "unlabelled"]);

/** Whether a class stands for points whose class is not known. */
export const isUnknown = (name: string) => UNKNOWN.has(name.trim().toLowerCase());

export const rgb = (hex: number): Rgb => [(hex >> 16) & 255, (hex >> 8) & 255, hex & 255];
export const css = ([r, g, b]: Rgb) => `rgb(${r} ${g} ${b})`;

export function ramp(t: number, theme: Theme): Rgb {
  const stops = palette.scale[theme];
  if (stops.length === 1) return rgb(stops[0]);
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
  const plain: Coloring = { kind: "plain", color: () => rgb(palette.classes[theme][0] ?? palette.missing[theme]) };
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
  const swatches = classColors(column.counts, column.names, theme);
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

/** Returns the color of each class: that of its name, or the next of the palette if it is one of the largest classes, otherwise gray. */
export function classColors(counts: Uint32Array, names: string[], theme: Theme): Rgb[] {
  const colors = palette.classes[theme];
  const swatches: Rgb[] = Array.from(counts, () => rgb(palette.missing[theme]));
  const name = (code: number) => (names[code] ?? String(code)).trim();
  const present = Array.from(counts.keys()).filter((code) => counts[code] > 0);
  for (const code of present) {
    const own = Object.hasOwn(palette.named, name(code)) ? palette.named[name(code)] : null;
    if (own) swatches[code] = rgb(own[theme]);
  }
  const others = present.filter((code) => !Object.hasOwn(palette.named, name(code)) && !isUnknown(name(code)));
  others.sort((a, b) => counts[b] - counts[a] || a - b);
  const colored = others.slice(0, colors.length).sort((a, b) => a - b);
  colored.forEach((code, at) => (swatches[code] = rgb(colors[at])));
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
  const inner = quantile(0.98) > quantile(0.02) ? [quantile(0.02), quantile(0.98)] : [quantile(0), quantile(1)];
  const reach = Math.max(inner[1], -inner[0]);
  const [low, high] = palette.diverging && inner[0] < 0 && inner[1] > 0 ? [-reach, reach] : inner;
  const skewed = !palette.diverging && quantile(0) > 0 && quantile(0.99) > 8 * quantile(0.5);
  const transform = skewed ? Math.log : (value: number) => value;
  const table = Array.from({ length: 256 }, (_, step) => ramp(step / 255, theme));
  const missing = rgb(palette.missing[theme]);
  const scale = high > low ? 255 / (transform(high) - transform(low)) : 0;
  const color = (point: number) => {
    if (!Number.isFinite(values[point])) return missing;
    const step = Math.round((transform(values[point]) - transform(low)) * scale);
    return table[Math.min(255, Math.max(0, step))];
  };
  return { kind: "number", name, low, middle: skewed ? Math.sqrt(low * high) : (low + high) / 2, high, color };
}
