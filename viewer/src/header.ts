/** The header of the page, as written by `page/header.rs`. */

import type { ColorMode } from "./colors";

export interface Header {
  version: number;
  title: string;
  rows: number;
  live: boolean;
  start: InitialView;
  maps: MapHeader[];
  columns: ColumnHeader[];
  ids: string | null;
  neighbors: { k: number; shown: number; section: string | null } | null;
  images: ImagesHeader | null;
  table: ScoreTable | null;
}

/** Initial state of the page, where it differs from the default. */
export interface InitialView {
  mode: ColorMode | null;
  hide: number;
  circles: boolean;
  words: boolean;
  dark: boolean;
}

/** Scores: one row per map, starting with its name. */
export interface ScoreTable {
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

/** Version of the layout that this script reads. */
export const VERSION = 1;
