/** The header of the page, as written by `page/header.rs`. */

import type { ColorMode, Palette } from "./colors";

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
  slider: SliderHeader | null;
  palette: Palette;
}

/** A slider that moves the points from one map to the next. */
export interface SliderHeader {
  label: string;
  /** Value of each map. */
  values: number[];
  /** Name of each map, if the values are only its positions. */
  names?: string[];
}

/** Initial state of the page, where it differs from the default. */
export interface InitialView {
  mode: ColorMode | null;
  hide: number;
  circles: boolean;
  words: boolean;
  dark: boolean;
  flagged: boolean;
  bridges: boolean;
  names: boolean;
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
  reliability: { name: string; meaning: string; section: string }[];
  bridges: BridgeHeader[];
}

/** Two islands that are connected in the data although the map separates them. */
export interface BridgeHeader {
  islands: [number, number];
  /** Number of points of each island with neighbors in the other. */
  points: [number, number];
  /** Ends of a line from one to the other, in map coordinates. */
  ends: [number[], number[]];
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
export const VERSION = 2;
