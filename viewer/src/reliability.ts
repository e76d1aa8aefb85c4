/** How far each point can be believed: columns of a map, flags, and lines between islands that the map tore apart. */

import type { Column, MapData } from "./dataset";
import type { BridgeHeader } from "./header";

/** A column of reliability of one map. */
export interface ReliabilityValues {
  name: string;
  /** Explanation in one sentence. */
  meaning: string;
  /** Value of each point; NaN where it is not known. */
  values: Float32Array;
}

/** Two islands that are connected in the data; the ends of the line are in map coordinates. */
export type Bridge = BridgeHeader;

/** Columns whose values are numbers of islands, or yes and no, drawn as classes. */
const CLASS_COLUMNS: Record<string, (value: number) => string> = {
  flagged: (value) => (value > 0 ? "flagged" : "not flagged"),
  island: (value) => (value > 0 ? `island ${value}` : "no island"),
  bridge_to: (value) => (value > 0 ? `to island ${value}` : "no bridge"),
};

/** Returns the values of a column, or null if the map does not have it. */
export function reliability(map: MapData | null, name: string): ReliabilityValues | null {
  return map?.reliability.find((column) => column.name === name) ?? null;
}

/** Returns the columns that any of the maps has, each once. */
export function knownColumns(maps: MapData[]): ReliabilityValues[] {
  const found = new Map<string, ReliabilityValues>();
  for (const column of maps.flatMap((map) => map.reliability)) if (!found.has(column.name)) found.set(column.name, column);
  return [...found.values()];
}

/** Returns a column as classes if it is drawn as such; the classes are those of all maps, so that colors agree. */
export function asClasses({ name, values }: ReliabilityValues, maps: MapData[]): Extract<Column, { kind: "class" }> | null {
  const label = CLASS_COLUMNS[name];
  if (!label) return null;
  const key = (value: number) => (Number.isNaN(value) ? 0 : value);
  const all = new Set<number>();
  for (const map of maps) for (const value of reliability(map, name)?.values ?? []) all.add(key(value));
  const keys = [...all].sort((a, b) => a - b);
  const code = new Map(keys.map((value, at) => [value, at]));
  const codes = Uint32Array.from(values, (value) => code.get(key(value))!);
  const counts = new Uint32Array(keys.length);
  for (const each of codes) counts[each]++;
  return { name, kind: "class", codes, names: keys.map(label), counts };
}

/** Returns the flags of the points, or null if they are not known or no point is flagged. */
export function flags(map: MapData): Float32Array | null {
  const values = reliability(map, "flagged")?.values ?? null;
  return values?.some((value) => value > 0) ? values : null;
}
