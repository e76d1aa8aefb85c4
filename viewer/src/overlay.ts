/** Drawings on top of the points: lines to neighbors, ellipses, rings, labels and the lasso. */

import { type Camera, perspectiveScale, type Vec3 } from "./camera";
import { type Coloring, css, type Theme } from "./colors";
import { type Dataset, type MapData, SAMPLE_SIZE } from "./dataset";
import { classLabel, truncate } from "./dom";

/** Everything needed to draw the overlay of a map. */
export interface OverlayContext {
  context: CanvasRenderingContext2D;
  camera: Camera;
  data: Dataset;
  map: MapData;
  coloring: Coloring;
  theme: Theme;
}

/** Colors of preserved and lost true neighbors, distinct with any color vision. */
export const KEPT: Record<Theme, string> = { light: "#0072b2", dark: "#56b4e9" };
export const LOST: Record<Theme, string> = { light: "#d55e00", dark: "#ff9d5c" };
const TEXT: Record<Theme, string> = { light: "#1a1c20", dark: "#f2f3f5" };
const HALO: Record<Theme, string> = { light: "rgb(255 255 255 / .85)", dark: "rgb(21 23 28 / .85)" };

/** Side of the square in the color of a class in front of its name, and its distance from the text. */
const MARK = 9;
const MARK_GAP = 5;

/** Largest number of ellipses. */
export const MAX_ELLIPSES = 3000;
/** Largest number of flagged points that are drawn as rings. */
const MAX_HOLLOW = 4000;
/** Largest number of rings around points found by a search. */
const MAX_RINGS = 1000;

function project({ camera, map }: OverlayContext, point: number): Vec3 {
  return camera.project(map.positions, 3 * point, [0, 0, 0]);
}

function isVisible({ camera }: OverlayContext, [x, y]: Vec3, margin: number): boolean {
  return x > -margin && y > -margin && x < camera.width + margin && y < camera.height + margin;
}

/** Draws lines from a point to its true neighbors: solid if the map preserves them, dashed if not. */
export function neighborLines(drawing: OverlayContext, point: number): void {
  const { context, data, map, theme } = drawing;
  const { lists, shown } = data.neighbors ?? { lists: null, shown: 0 };
  if (!lists) return;
  const from = project(drawing, point);
  context.lineWidth = 1.5;
  for (let r = shown - 1; r >= 0; r--) {
    const other = lists[point * shown + r];
    const to = project(drawing, other);
    const kept = map.kept ? (map.kept[point] >> r) & 1 : 1;
    context.strokeStyle = context.fillStyle = kept ? KEPT[theme] : LOST[theme];
    context.setLineDash(kept ? [] : [5, 4]);
    context.beginPath();
    context.moveTo(from[0], from[1]);
    context.lineTo(to[0], to[1]);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(to[0], to[1], 3.5, 0, 2 * Math.PI);
    context.fill();
  }
}

/** Semi-axes, and the clockwise angle of the major axis. */
export interface Ellipse {
  major: number;
  minor: number;
  angle: number;
}

/**
 * Returns the ellipse of one standard deviation of a point in map units: the projection of its covariance onto the screen, or a circle if
 * only the standard deviation is known.
 */
export function ellipse({ covariances, std, dim }: MapData, [right, up]: readonly Vec3[], point: number): Ellipse | null {
  if (!covariances) return std ? { major: std[point], minor: std[point], angle: 0 } : null;
  let [xx, xy, yy] = [0, 0, 0];
  let at = (point * dim * (dim + 1)) / 2;
  for (let r = 0; r < dim; r++) {
    for (let s = r; s < dim; s++) {
      const twice = r === s ? 0.5 : 1;
      const value = covariances[at++] * twice;
      xx += 2 * value * right[r] * right[s];
      xy += value * (right[r] * up[s] + right[s] * up[r]);
      yy += 2 * value * up[r] * up[s];
    }
  }
  const [mean, half] = [(xx + yy) / 2, (xx - yy) / 2];
  const spread = Math.hypot(half, xy);
  // The y axis points up in the map and down on the screen.
  const angle = -Math.atan2(xy, half) / 2;
  return { major: Math.sqrt(Math.max(0, mean + spread)), minor: Math.sqrt(Math.max(0, mean - spread)), angle };
}

/** Draws ellipses of one standard deviation. */
export function ellipses(drawing: OverlayContext, order: Uint32Array): void {
  const { context, camera, map, coloring } = drawing;
  context.lineWidth = 1;
  let remaining = MAX_ELLIPSES;
  for (const point of order) {
    const shape = ellipse(map, camera.rotation, point);
    if (!shape) return;
    const position = project(drawing, point);
    const scale = (camera.scale * (camera.is3d ? perspectiveScale(position[2]) : 1)) / map.frame.unit;
    const [major, minor] = [shape.major * scale, shape.minor * scale];
    if (!isVisible(drawing, position, major) || major < 1) continue;
    const [r, g, b] = coloring.color(point);
    context.beginPath();
    context.ellipse(position[0], position[1], major, minor, shape.angle, 0, 2 * Math.PI);
    context.strokeStyle = `rgb(${r} ${g} ${b} / .5)`;
    context.fillStyle = `rgb(${r} ${g} ${b} / .07)`;
    context.fill();
    context.stroke();
    if (--remaining === 0) return;
  }
}

/** Draws a ring around a point. */
export function ring(drawing: OverlayContext, point: number, radius: number): void {
  const { context, theme, coloring } = drawing;
  const [x, y] = project(drawing, point);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.lineWidth = 5;
  context.strokeStyle = HALO[theme];
  context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = TEXT[theme];
  context.stroke();
  context.beginPath();
  context.arc(x, y, radius - 2, 0, 2 * Math.PI);
  context.fillStyle = css(coloring.color(point));
  context.fill();
}

/** Draws thin rings around points. */
export function rings(drawing: OverlayContext, points: number[]): void {
  const { context, theme } = drawing;
  context.lineWidth = 1.5;
  context.strokeStyle = TEXT[theme];
  for (const point of points.slice(0, MAX_RINGS)) {
    const position = project(drawing, point);
    if (!isVisible(drawing, position, 8)) continue;
    context.beginPath();
    context.arc(position[0], position[1], 6, 0, 2 * Math.PI);
    context.stroke();
  }
}

/** Draws flagged points as rings in their color. */
export function hollowPoints(drawing: OverlayContext, order: Uint32Array, flags: Float32Array, radius: number): void {
  const { context, coloring } = drawing;
  context.lineWidth = Math.max(1.2, 0.35 * radius);
  let remaining = MAX_HOLLOW;
  for (const point of order) {
    if (!(flags[point] > 0)) continue;
    const position = project(drawing, point);
    if (!isVisible(drawing, position, radius)) continue;
    context.beginPath();
    context.arc(position[0], position[1], Math.max(2.2, radius + 0.5), 0, 2 * Math.PI);
    context.strokeStyle = css(coloring.color(point));
    context.stroke();
    if (--remaining === 0) return;
  }
}

/** Draws a line between each two islands that are connected in the data, with the number of points that have neighbors on the other side. */
export function bridgeLines(drawing: OverlayContext): void {
  const { context, camera, map, theme } = drawing;
  const { middle, unit } = map.frame;
  for (const { ends, points } of map.bridges) {
    const position = (end: number[]): Vec3 => {
      const [x, y, z] = end.map((value, c) => (value - middle[c]) / unit);
      return camera.project(Float32Array.of(x, y ?? 0, z ?? 0), 0, [0, 0, 0]);
    };
    const [from, to] = ends.map(position);
    context.lineCap = "round";
    for (const [width, color] of [[5, HALO[theme]], [2, TEXT[theme]]] as const) {
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.lineWidth = width;
      context.strokeStyle = color;
      context.stroke();
    }
    context.lineCap = "butt";
    const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = HALO[theme];
    context.fillStyle = TEXT[theme];
    const text = String(points[0] + points[1]);
    context.strokeText(text, x, y - 10);
    context.fillText(text, x, y - 10);
  }
}

/** Median coordinates of each class, and the largest median absolute deviation over the coordinates. */
export interface ClassCenters {
  centers: Float32Array;
  spread: Float32Array;
}

export function classCenters(map: MapData, codes: Uint32Array, classes: number): ClassCenters {
  const lists: number[][] = Array.from({ length: classes }, () => []);
  const step = Math.ceil(codes.length / SAMPLE_SIZE);
  for (let point = 0; point < codes.length; point += step) lists[codes[point]].push(point);
  const centers = new Float32Array(3 * classes);
  const spread = new Float32Array(classes);
  lists.forEach((points, code) => {
    for (let c = 0; c < 3; c++) {
      const center = median(points, (point) => map.positions[3 * point + c]);
      centers[3 * code + c] = center;
      const deviation = median(points, (point) => Math.abs(map.positions[3 * point + c] - center));
      spread[code] = Math.max(spread[code], deviation);
    }
  });
  return { centers, spread };
}

function median(points: number[], value: (point: number) => number): number {
  const values = Float32Array.from(points, value).sort();
  return values.length ? values[values.length >> 1] : NaN;
}

/** Areas of the screen that contain labels. */
export class LabelSpace {
  private readonly boxes: { x: number; y: number; width: number }[] = [];

  /** Reserves space for a line of text centered at a position; returns false if it overlaps another. */
  reserve(x: number, y: number, width: number): boolean {
    const overlaps = (box: { x: number; y: number; width: number }) =>
      Math.abs(box.x - x) < (box.width + width) / 2 && Math.abs(box.y - y) < LINE_HEIGHT;
    if (this.boxes.some(overlaps)) return false;
    this.boxes.push({ x, y, width });
    return true;
  }
}

/** Height of a line of text. */
const LINE_HEIGHT = 17;
/** Largest number of point labels, and of points that are considered for them. */
const MAX_LABELS = 150;
const MAX_CANDIDATES = 4000;

/** Writes ids to the right of points where there is space, in a fixed order so that labels do not flicker while the map moves. */
export function pointNames(drawing: OverlayContext, order: Uint32Array, gap: number, space: LabelSpace): void {
  const { context, theme, data } = drawing;
  if (!data.ids) return;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = HALO[theme];
  context.fillStyle = TEXT[theme];
  let [candidates, labels] = [0, 0];
  for (const point of order) {
    const position = project(drawing, point);
    if (!isVisible(drawing, position, 0)) continue;
    if (++candidates > MAX_CANDIDATES || labels >= MAX_LABELS) return;
    const text = truncate(data.ids[point], 24);
    const width = context.measureText(text).width + 10;
    if (!space.reserve(position[0] + gap + width / 2, position[1], width)) continue;
    labels++;
    context.strokeText(text, position[0] + gap, position[1]);
    context.fillText(text, position[0] + gap, position[1]);
  }
}

/** Writes the names of classes at their centers, or above them for compact classes; the largest classes first, without overlaps. */
export function classNames(drawing: OverlayContext, { centers, spread }: ClassCenters, hiddenClasses: ReadonlySet<number>, space: LabelSpace): void {
  const { context, camera, coloring, theme } = drawing;
  if (coloring.kind !== "class") return;
  const { names, counts } = coloring.column;
  const order = Array.from(counts.keys()).filter((code) => counts[code] > 0 && !hiddenClasses.has(code));
  order.sort((a, b) => counts[b] - counts[a]);
  context.font = "600 14px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const code of order.slice(0, 60)) {
    const [x, middle] = camera.project(centers, 3 * code, [0, 0, 0]);
    const y = spread[code] * camera.scale > 12 ? middle : middle - 17;
    const text = truncate(classLabel(names[code]), 28);
    const textWidth = context.measureText(text).width;
    const width = textWidth + MARK + MARK_GAP;
    if (!space.reserve(x, y, width + 8)) continue;
    // The square has the color of the class, not the text: few colors are both readable and far enough from each other.
    const left = x - width / 2;
    const middleOfText = left + MARK + MARK_GAP + textWidth / 2;
    context.lineWidth = 4;
    context.strokeStyle = HALO[theme];
    context.strokeRect(left, y - MARK / 2, MARK, MARK);
    context.strokeText(text, middleOfText, y);
    context.fillStyle = css(coloring.swatches[code]);
    context.fillRect(left, y - MARK / 2, MARK, MARK);
    context.fillStyle = TEXT[theme];
    context.fillText(text, middleOfText, y);
  }
}

/** Draws the lasso. */
export function lassoLine({ context, theme }: OverlayContext, line: [number, number][]): void {
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = theme === "light" ? "rgb(0 114 178 / .12)" : "rgb(86 180 233 / .16)";
  context.fill();
  context.setLineDash([6, 4]);
  context.lineWidth = 1.5;
  context.strokeStyle = KEPT[theme];
  context.stroke();
  context.setLineDash([]);
}
