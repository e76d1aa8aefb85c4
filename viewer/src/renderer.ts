/** Renderers of points: WebGL2 if available, otherwise pixel by pixel. */

import type { Camera } from "./camera";
import type { Rgb } from "./colors";
import { Raster } from "./raster";
import { WebGl } from "./webgl";

/** Parameters of one frame. */
export interface RenderParameters {
  camera: Camera;
  /** Progress from the first positions to the second, from 0 to 1. */
  t: number;
  /** Diameter of a point in device pixels. */
  size: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
  /** Number of points to draw, in drawing order. */
  count: number;
  background: Rgb;
}

export interface Renderer {
  readonly name: "webgl" | "canvas";
  readonly canvas: HTMLCanvasElement;
  /** Sets three coordinates per point, at the start and at the end of an animation. */
  setPositions(from: Float32Array, to: Float32Array): void;
  /** Sets red, green, blue and opacity of each point. */
  setColors(colors: Uint8Array): void;
  /** Sets the points to draw, from back to front. */
  setOrder(order: Uint32Array): void;
  draw(parameters: RenderParameters): void;
  dispose(): void;
}

/** Choice of the renderer: by default WebGL2 if it is hardware-accelerated; ?webgl or ?canvas in the address override it. */
export type RendererKind = "auto" | "webgl" | "canvas";

/** Creates a renderer with its own canvas, because a canvas supports only one kind of context. */
export function createRenderer(kind: RendererKind, is3d: boolean): Renderer {
  return (kind === "canvas" ? null : WebGl.create(is3d, kind === "webgl")) ?? new Raster();
}

/** Creates the canvas of a renderer. */
export function createPointsCanvas(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = "points";
  return canvas;
}
