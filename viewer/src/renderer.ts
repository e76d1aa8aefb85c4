/** What draws points: WebGL2 where there is one, else pixel by pixel. */

import type { Camera } from "./camera";
import type { Rgb } from "./colors";
import { Raster } from "./raster";
import { WebGl } from "./webgl";

/** One picture of the points. */
export interface Scene {
  camera: Camera;
  /** Part of the way from the first positions to the second. */
  t: number;
  /** Diameter of a point in pixels of the screen. */
  size: number;
  /** Pixels of the screen for one of the page. */
  ratio: number;
  /** Of the points in their order, how many are drawn. */
  count: number;
  ground: Rgb;
}

export interface Renderer {
  readonly name: "webgl" | "canvas";
  readonly canvas: HTMLCanvasElement;
  /** Three numbers a point, before and after a morph. */
  setPositions(from: Float32Array, to: Float32Array): void;
  /** Red, green, blue and opacity of each point. */
  setColors(colors: Uint8Array): void;
  /** Which points are drawn, the first below the others. */
  setOrder(order: Uint32Array): void;
  draw(scene: Scene): void;
  dispose(): void;
}

/** What draws: WebGL2 where a graphics card runs it; an address with ?webgl or ?canvas decides otherwise. */
export type Kind = "auto" | "webgl" | "canvas";

/** Each on a canvas of its own: a canvas keeps the kind of context it first gave. */
export function renderer(kind: Kind, deep: boolean): Renderer {
  return (kind === "canvas" ? null : WebGl.make(deep, kind === "webgl")) ?? new Raster();
}

export function pointsCanvas(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = "points";
  return canvas;
}
