/** What the page's header says, as `page/header.rs` writes it. */

import type { Mode } from "./colors";

export interface Header {
  version: number;
  title: string;
  rows: number;
  live: boolean;
  start: Start;
  maps: MapHeader[];
  columns: ColumnHeader[];
  ids: string | null;
  neighbors: { k: number; shown: number; section: string | null } | null;
  images: ImagesHeader | null;
  table: Table | null;
}

/** What the page shows first, where it is not the usual. */
export interface Start {
  mode: Mode | null;
  hide: number;
  circles: boolean;
  words: boolean;
  dark: boolean;
}

/** Scores: a row for each map, its name first. */
export interface Table {
  header: string[];
  rows: { text: string; best: boolean }[][];
}

export interface MapHeader {
  name: string;
  caption: string;
  dim: number;
  dimOf: number;
  points: string;
  bytes: 2 | 4;
  low: number[];
  high: number[];
  std: string | null;
  covariances: string | null;
  kept: string | null;
}

export type ColumnHeader =
  | { name: string; kind: "number"; section: string }
  | { name: string; kind: "class"; section: string; names: string };

export interface ImagesHeader {
  width: number;
  height: number;
  rows: number;
  sections: string[];
}

/** The one layout this script reads. */
export const VERSION = 1;
