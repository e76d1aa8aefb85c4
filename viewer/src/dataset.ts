/** The maps and the data of the points, decoded from the page. */

import { type ColumnHeader, type Header, type MapHeader, type InitialView, type ScoreTable, type SliderHeader, VERSION } from "./header";
import { usePalette } from "./colors";
import { Thumbnails } from "./images";
import type { Bridge, ReliabilityValues } from "./reliability";
import * as sections from "./sections";

/** A map in normalized coordinates: three per point, mostly between -1 and 1. */
export interface MapData {
  name: string;
  caption: string;
  /** Number of dimensions shown, and of the map itself. */
  dim: number;
  dimOf: number;
  positions: Float32Array<ArrayBuffer>;
  frame: CoordinateFrame;
  std: Float32Array | null;
  /** Upper triangle of each point's covariance, for the dimensions shown. */
  covariances: Float32Array | null;
  /** Bit `r` is set if the map preserves the `r`-th true neighbor. */
  kept: Uint16Array | null;
  /** Columns that say how far each point can be believed. */
  reliability: ReliabilityValues[];
  /** Islands that are connected in the data. */
  bridges: Bridge[];
}

/** Conversion of normalized coordinates: map coordinate = middle + normalized coordinate * unit. */
export interface CoordinateFrame {
  middle: number[];
  unit: number;
}

export type Column =
  | { name: string; kind: "number"; values: Float32Array }
  | { name: string; kind: "class"; codes: Uint32Array; names: string[]; counts: Uint32Array };

export interface Dataset {
  title: string;
  rows: number;
  live: boolean;
  start: InitialView;
  maps: MapData[];
  columns: Column[];
  ids: string[] | null;
  neighbors: { k: number; shown: number; lists: Uint32Array | null } | null;
  images: Thumbnails | null;
  table: ScoreTable | null;
  slider: SliderHeader | null;
}

export async function load(): Promise<Dataset> {
  const header = sections.header() as Header;
  if (header.version !== VERSION) throw new Error(`the data have version ${header.version}, but the script reads version ${VERSION}`);
  usePalette(header.palette);
  const neighborHeader = header.neighbors;
  const lists = neighborHeader?.section ? sections.u32(neighborHeader.section) : Promise.resolve(null);
  const [maps, columns, ids, neighbors] = await Promise.all([
    Promise.all(header.maps.map((map) => loadMap(map, header.rows))),
    Promise.all(header.columns.map(loadColumn)),
    header.ids ? sections.texts(header.ids) : null,
    neighborHeader ? lists.then((found) => ({ k: neighborHeader.k, shown: neighborHeader.shown, lists: found })) : null,
  ]);
  const images = header.images ? new Thumbnails(header.images) : null;
  const { title, rows, live, start, table, slider } = header;
  return { title, rows, live, start, table, slider: slider ?? null, maps, columns, ids, neighbors, images };
}

async function loadMap(map: MapHeader, rows: number): Promise<MapData> {
  const [stored, std, covariances, kept, reliability] = await Promise.all([
    map.bytes === 2 ? sections.u16(map.points) : sections.f32(map.points),
    map.std ? sections.f32(map.std) : null,
    map.covariances ? sections.f32(map.covariances) : null,
    map.kept ? sections.u16(map.kept) : null,
    Promise.all(map.reliability.map(async ({ name, meaning, section }) => ({ name, meaning, values: await sections.f32(section) }))),
  ]);
  const { name, caption, dim, dimOf, bridges } = map;
  const { positions, frame } = decodePositions(stored, map, rows);
  return { name, caption, dim, dimOf, positions, frame, std, covariances, kept, reliability, bridges };
}

interface StoredRange {
  dim: number;
  low: number[];
  high: number[];
}

/** Converts stored fractions of the range of each dimension to normalized coordinates. */
export function decodePositions(stored: Uint16Array | Float32Array, { dim, low, high }: StoredRange, rows: number) {
  const max = stored instanceof Uint16Array ? 65535 : 1;
  const middle: number[] = [];
  const half: number[] = [];
  for (let c = 0; c < dim; c++) {
    const [from, to] = innerRange(stored, c, dim, rows, max);
    const at = (share: number) => low[c] * (1 - share) + high[c] * share;
    middle.push(at(from) / 2 + at(to) / 2);
    half.push(at(to) / 2 - at(from) / 2);
  }
  const unit = Math.max(...half) > 0 ? Math.max(...half) : 1;
  const positions = new Float32Array(rows * 3);
  for (let c = 0; c < dim; c++) {
    const [offset, step] = [(low[c] - middle[c]) / unit, (high[c] / unit - low[c] / unit) / max];
    for (let i = 0; i < rows; i++) positions[3 * i + c] = offset + stored[i * dim + c] * step;
  }
  // Points of a one-dimensional map are spread vertically, by a fixed pattern, to separate them.
  if (dim === 1) for (let i = 0; i < rows; i++) positions[3 * i + 1] = 0.3 * (2 * ((i * 0.6180339887) % 1) - 1);
  return { positions, frame: { middle, unit } };
}

/** Number of points from which quantiles are estimated. */
export const SAMPLE_SIZE = 50_000;

/** Returns the full range, or the range of the central 99 % if there are outliers. */
function innerRange(stored: Uint16Array | Float32Array, c: number, dim: number, rows: number, max: number) {
  if (rows === 0) return [0, 1];
  let [least, most] = [Infinity, -Infinity];
  for (let at = c; at < stored.length; at += dim) {
    if (stored[at] < least) least = stored[at];
    if (stored[at] > most) most = stored[at];
  }
  [least, most] = [least / max, most / max];
    const step = Math.ceil(rows / SAMPLE_SIZE);
  const values = Float32Array.from({ length: Math.floor(rows / step) }, (_, i) => stored[i * step * dim + c] / max).sort();
  const rank = Math.floor(values.length / 200);
  const [low, high] = [values[rank], values[values.length - 1 - rank]];
  return most - least > 3 * (high - low) && high > low ? [low, high] : [least, most];
}

async function loadColumn(column: ColumnHeader): Promise<Column> {
  const { name } = column;
  if (column.kind === "number") return { name, kind: "number", values: await sections.f32(column.section) };
  const [codes, names] = await Promise.all([sections.u32(column.section), sections.texts(column.names)]);
  let codeCount = names.length;
  for (const code of codes) if (code >= codeCount) codeCount = code + 1;
  const counts = new Uint32Array(codeCount);
  for (const code of codes) counts[code]++;
  return { name, kind: "class", codes, names: names.concat(unnamed(names.length, codeCount)), counts };
}

/** Returns codes as names. */
const unnamed = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i));

/** Returns the fraction of the true neighbors that a map preserves. */
export function recall(map: MapData, k: number, point: number): number {
  return countBits(map.kept![point]) / k;
}

/** Counts the bits that are set. */
export function countBits(word: number): number {
  let count = 0;
  for (let rest = word; rest; rest &= rest - 1) count++;
  return count;
}

/** Returns the map coordinates of a point. */
export function coordinates(map: MapData, point: number): number[] {
  const { middle, unit } = map.frame;
  return middle.map((m, c) => m + map.positions[3 * point + c] * unit);
}

/** Returns the id of a point, or its row number. */
export function pointName(data: Dataset, point: number): string {
  return data.ids ? data.ids[point] : `row ${point}`;
}

/** Returns the map at a position between two consecutive maps: 1.25 is a quarter of the way from the second to the third. */
export function mapBetween(maps: MapData[], position: number): MapData {
  const at = Math.min(Math.max(position, 0), maps.length - 1);
  const [first, second] = [maps[Math.floor(at)], maps[Math.ceil(at)]];
  const t = at - Math.floor(at);
  if (t === 0 || first.dim !== second.dim) return maps[Math.round(at)];
  const mix = (a: number, b: number) => a + t * (b - a);
  const positions = first.positions.map((from, i) => mix(from, second.positions[i]));
  const frame = {
    middle: first.frame.middle.map((middle, c) => mix(middle, second.frame.middle[c])),
    unit: mix(first.frame.unit, second.frame.unit),
  };
  // Everything that belongs to the points of one map only, such as the neighbors it keeps, is that of the nearer map.
  return { ...(t < 0.5 ? first : second), bridges: [], name: `${first.name} to ${second.name}`, caption: "", positions, frame };
}
