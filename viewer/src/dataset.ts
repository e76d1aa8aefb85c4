/** The maps and what is known of each point, unpacked from the page. */

import { type ColumnHeader, type Header, type MapHeader, type Start, type Table, VERSION } from "./header";
import { Thumbnails } from "./images";
import * as sections from "./sections";

/** A map in the coordinates it is drawn in: three a point, most of them between -1 and 1. */
export interface MapData {
  name: string;
  caption: string;
  /** Dimensions that are drawn, and that the map has. */
  dim: number;
  dimOf: number;
  positions: Float32Array<ArrayBuffer>;
  frame: Frame;
  std: Float32Array | null;
  /** The upper triangle of each point's covariance, of the dimensions that are drawn. */
  covariances: Float32Array | null;
  /** Bit `r`: the `r`-th true neighbour is kept in this map. */
  kept: Uint16Array | null;
}

/** How drawn coordinates and the map's own belong together: own = middle + drawn * unit. */
export interface Frame {
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
  start: Start;
  maps: MapData[];
  columns: Column[];
  ids: string[] | null;
  neighbors: { k: number; shown: number; lists: Uint32Array | null } | null;
  images: Thumbnails | null;
  table: Table | null;
}

export async function load(): Promise<Dataset> {
  const header = sections.header() as Header;
  if (header.version !== VERSION) throw new Error(`the page's data are of version ${header.version}, not ${VERSION}`);
  const near = header.neighbors;
  const lists = near?.section ? sections.u32(near.section) : Promise.resolve(null);
  const [maps, columns, ids, neighbors] = await Promise.all([
    Promise.all(header.maps.map((map) => mapOf(map, header.rows))),
    Promise.all(header.columns.map(columnOf)),
    header.ids ? sections.texts(header.ids) : null,
    near ? lists.then((found) => ({ k: near.k, shown: near.shown, lists: found })) : null,
  ]);
  const images = header.images ? new Thumbnails(header.images) : null;
  const { title, rows, live, start, table } = header;
  return { title, rows, live, start, table, maps, columns, ids, neighbors, images };
}

async function mapOf(map: MapHeader, rows: number): Promise<MapData> {
  const [stored, std, covariances, kept] = await Promise.all([
    map.bytes === 2 ? sections.u16(map.points) : sections.f32(map.points),
    map.std ? sections.f32(map.std) : null,
    map.covariances ? sections.f32(map.covariances) : null,
    map.kept ? sections.u16(map.kept) : null,
  ]);
  const { name, caption, dim, dimOf } = map;
  const { positions, frame } = placed(stored, map, rows);
  return { name, caption, dim, dimOf, positions, frame, std, covariances, kept };
}

interface Stored {
  dim: number;
  low: number[];
  high: number[];
}

/** Shares of the range of each dimension, as stored, to positions. */
export function placed(stored: Uint16Array | Float32Array, { dim, low, high }: Stored, rows: number) {
  const whole = stored instanceof Uint16Array ? 65535 : 1;
  const middle: number[] = [];
  const half: number[] = [];
  for (let c = 0; c < dim; c++) {
    const [from, to] = innerRange(stored, c, dim, rows, whole);
    const at = (share: number) => low[c] * (1 - share) + high[c] * share;
    middle.push(at(from) / 2 + at(to) / 2);
    half.push(at(to) / 2 - at(from) / 2);
  }
  const unit = Math.max(...half) > 0 ? Math.max(...half) : 1;
  const positions = new Float32Array(rows * 3);
  for (let c = 0; c < dim; c++) {
    const [offset, step] = [(low[c] - middle[c]) / unit, (high[c] / unit - low[c] / unit) / whole];
    for (let i = 0; i < rows; i++) positions[3 * i + c] = offset + stored[i * dim + c] * step;
  }
  // Points of a line are spread across it, evenly and always alike, so that they can be told apart.
  if (dim === 1) for (let i = 0; i < rows; i++) positions[3 * i + 1] = 0.3 * (2 * ((i * 0.6180339887) % 1) - 1);
  return { positions, frame: { middle, unit } };
}

/** Points that stand for all where a rank is wanted. */
export const SAMPLE = 50_000;

/** The whole range, or the range of the middle 99 % where a few points stand far out of it. */
function innerRange(stored: Uint16Array | Float32Array, c: number, dim: number, rows: number, whole: number) {
  if (rows === 0) return [0, 1];
  let [least, most] = [Infinity, -Infinity];
  for (let at = c; at < stored.length; at += dim) {
    if (stored[at] < least) least = stored[at];
    if (stored[at] > most) most = stored[at];
  }
  [least, most] = [least / whole, most / whole];
  // Of many points a sample tells where the middle is.
  const step = Math.ceil(rows / SAMPLE);
  const values = Float32Array.from({ length: Math.floor(rows / step) }, (_, i) => stored[i * step * dim + c] / whole).sort();
  const rank = Math.floor(values.length / 200);
  const [low, high] = [values[rank], values[values.length - 1 - rank]];
  return most - least > 3 * (high - low) && high > low ? [low, high] : [least, most];
}

async function columnOf(column: ColumnHeader): Promise<Column> {
  const { name } = column;
  if (column.kind === "number") return { name, kind: "number", values: await sections.f32(column.section) };
  const [codes, names] = await Promise.all([sections.u32(column.section), sections.texts(column.names)]);
  let most = names.length;
  for (const code of codes) if (code >= most) most = code + 1;
  const counts = new Uint32Array(most);
  for (const code of codes) counts[code]++;
  return { name, kind: "class", codes, names: names.concat(unnamed(names.length, most)), counts };
}

const unnamed = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i));

/** Share of the true neighbours that the map keeps. */
export function recall(map: MapData, k: number, point: number): number {
  return bits(map.kept![point]) / k;
}

export function bits(word: number): number {
  let count = 0;
  for (let rest = word; rest; rest &= rest - 1) count++;
  return count;
}

/** The map's own coordinates of a point. */
export function coordinates(map: MapData, point: number): number[] {
  const { middle, unit } = map.frame;
  return middle.map((m, c) => m + map.positions[3 * point + c] * unit);
}

/** What a person calls a point. */
export function nameOf(data: Dataset, point: number): string {
  return data.ids ? data.ids[point] : `row ${point}`;
}
