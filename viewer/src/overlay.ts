/** What is drawn over the points: lines to neighbours, ellipses, rings, names of classes, the lasso. */

import { type Camera, nearness, type Vec3 } from "./camera";
import { type Coloring, css, type Rgb, type Theme } from "./colors";
import { type Dataset, type MapData, SAMPLE } from "./dataset";
import { className, clipped } from "./dom";

export interface Drawing {
  context: CanvasRenderingContext2D;
  camera: Camera;
  data: Dataset;
  map: MapData;
  coloring: Coloring;
  theme: Theme;
}

/** True neighbours that the map keeps and those it loses; apart also for the colour-blind. */
export const KEPT: Record<Theme, string> = { light: "#0072b2", dark: "#56b4e9" };
export const LOST: Record<Theme, string> = { light: "#d55e00", dark: "#ff9d5c" };
const INK: Record<Theme, string> = { light: "#1a1c20", dark: "#f2f3f5" };
const HALO: Record<Theme, string> = { light: "rgb(255 255 255 / .85)", dark: "rgb(21 23 28 / .85)" };

/** More rings or ellipses than this are a fog. */
export const MOST_CIRCLES = 3000;
const MOST_RINGS = 1000;

function at({ camera, map }: Drawing, point: number): Vec3 {
  return camera.project(map.positions, 3 * point, [0, 0, 0]);
}

function within({ camera }: Drawing, [x, y]: Vec3, margin: number): boolean {
  return x > -margin && y > -margin && x < camera.width + margin && y < camera.height + margin;
}

/** Lines from a point to its true neighbours: kept ones whole, lost ones dashed. */
export function neighborLines(drawing: Drawing, point: number): void {
  const { context, data, map, theme } = drawing;
  const { lists, shown } = data.neighbors ?? { lists: null, shown: 0 };
  if (!lists) return;
  const from = at(drawing, point);
  context.lineWidth = 1.5;
  for (let r = shown - 1; r >= 0; r--) {
    const other = lists[point * shown + r];
    const to = at(drawing, other);
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

/** Half axes, the longer first, and the angle of the longer, clockwise as the screen has it. */
export interface Ellipse {
  long: number;
  wide: number;
  angle: number;
}

/** One standard deviation of a point as the camera sees it, in the map's own units: its covariance turned and seen from the
    front, or a circle where only the standard deviation is known. */
export function ellipse({ covariances, std, dim }: MapData, [right, up]: readonly Vec3[], point: number): Ellipse | null {
  if (!covariances) return std ? { long: std[point], wide: std[point], angle: 0 } : null;
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
  const apart = Math.hypot(half, xy);
  // The map counts up, the screen down.
  const angle = -Math.atan2(xy, half) / 2;
  return { long: Math.sqrt(Math.max(0, mean + apart)), wide: Math.sqrt(Math.max(0, mean - apart)), angle };
}

/** Ellipses of one standard deviation, in the map's own units. */
export function ellipses(drawing: Drawing, order: Uint32Array): void {
  const { context, camera, map, coloring } = drawing;
  context.lineWidth = 1;
  let left = MOST_CIRCLES;
  for (const point of order) {
    const own = ellipse(map, camera.turn, point);
    if (!own) return;
    const place = at(drawing, point);
    const scale = (camera.scale * (camera.deep ? nearness(place[2]) : 1)) / map.frame.unit;
    const [long, wide] = [own.long * scale, own.wide * scale];
    if (!within(drawing, place, long) || long < 1) continue;
    const [r, g, b] = coloring.color(point);
    context.beginPath();
    context.ellipse(place[0], place[1], long, wide, own.angle, 0, 2 * Math.PI);
    context.strokeStyle = `rgb(${r} ${g} ${b} / .5)`;
    context.fillStyle = `rgb(${r} ${g} ${b} / .07)`;
    context.fill();
    context.stroke();
    if (--left === 0) return;
  }
}

export function ring(drawing: Drawing, point: number, radius: number): void {
  const { context, theme, coloring } = drawing;
  const [x, y] = at(drawing, point);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.lineWidth = 5;
  context.strokeStyle = HALO[theme];
  context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = INK[theme];
  context.stroke();
  context.beginPath();
  context.arc(x, y, radius - 2, 0, 2 * Math.PI);
  context.fillStyle = css(coloring.color(point));
  context.fill();
}

export function rings(drawing: Drawing, points: number[]): void {
  const { context, theme } = drawing;
  context.lineWidth = 1.5;
  context.strokeStyle = INK[theme];
  for (const point of points.slice(0, MOST_RINGS)) {
    const place = at(drawing, point);
    if (!within(drawing, place, 8)) continue;
    context.beginPath();
    context.arc(place[0], place[1], 6, 0, 2 * Math.PI);
    context.stroke();
  }
}

/** Where the points of each class are: their middle, coordinate by coordinate, and how far half of them are from it. */
export interface Middles {
  places: Float32Array;
  spread: Float32Array;
}

export function middles(map: MapData, codes: Uint32Array, classes: number): Middles {
  const lists: number[][] = Array.from({ length: classes }, () => []);
  const step = Math.ceil(codes.length / SAMPLE);
  for (let point = 0; point < codes.length; point += step) lists[codes[point]].push(point);
  const places = new Float32Array(3 * classes);
  const spread = new Float32Array(classes);
  lists.forEach((points, code) => {
    for (let c = 0; c < 3; c++) {
      const middle = median(points, (point) => map.positions[3 * point + c]);
      places[3 * code + c] = middle;
      const away = median(points, (point) => Math.abs(map.positions[3 * point + c] - middle));
      spread[code] = Math.max(spread[code], away);
    }
  });
  return { places, spread };
}

function median(points: number[], value: (point: number) => number): number {
  const values = Float32Array.from(points, value).sort();
  return values.length ? values[values.length >> 1] : NaN;
}

/** Places on the screen that are written on. */
export class Written {
  private readonly boxes: { x: number; y: number; width: number }[] = [];

  /** Takes a place for a line of text, unless it is taken. */
  take(x: number, y: number, width: number): boolean {
    const over = (box: { x: number; y: number; width: number }) =>
      Math.abs(box.x - x) < (box.width + width) / 2 && Math.abs(box.y - y) < LINE;
    if (this.boxes.some(over)) return false;
    this.boxes.push({ x, y, width });
    return true;
  }
}

const LINE = 17;
/** Words that are written, and points that are looked at for them. */
const MOST_WORDS = 150;
const MOST_LOOKS = 4000;

/** Ids beside points, `gap` to the right, as many as have room; always the same ones, so that they do not flicker while the map moves. */
export function pointNames(drawing: Drawing, order: Uint32Array, gap: number, written: Written): void {
  const { context, theme, data } = drawing;
  if (!data.ids) return;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = HALO[theme];
  context.fillStyle = INK[theme];
  let [looks, words] = [0, 0];
  for (const point of order) {
    const place = at(drawing, point);
    if (!within(drawing, place, 0)) continue;
    if (++looks > MOST_LOOKS || words >= MOST_WORDS) return;
    const text = clipped(data.ids[point], 24);
    const width = context.measureText(text).width + 10;
    if (!written.take(place[0] + gap + width / 2, place[1], width)) continue;
    words++;
    context.strokeText(text, place[0] + gap, place[1]);
    context.fillText(text, place[0] + gap, place[1]);
  }
}

/** Names of the classes over their middles, of small heaps above them; the largest first, none over another. */
export function classNames(drawing: Drawing, { places, spread }: Middles, off: ReadonlySet<number>, written: Written): void {
  const { context, camera, coloring, theme } = drawing;
  if (coloring.kind !== "class") return;
  const { names, counts } = coloring.column;
  const order = Array.from(counts.keys()).filter((code) => counts[code] > 0 && !off.has(code));
  order.sort((a, b) => counts[b] - counts[a]);
  context.font = "600 14px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const code of order.slice(0, 60)) {
    const [x, middle] = camera.project(places, 3 * code, [0, 0, 0]);
    const y = spread[code] * camera.scale > 12 ? middle : middle - 17;
    const text = clipped(className(names[code]), 28);
    const width = context.measureText(text).width + 8;
    if (!written.take(x, y, width)) continue;
    context.lineWidth = 4;
    context.strokeStyle = HALO[theme];
    context.strokeText(text, x, y);
    context.fillStyle = css(readable(coloring.swatches[code], theme));
    context.fillText(text, x, y);
  }
}

/** A class's colour, made strong enough for text. */
function readable(color: Rgb, theme: Theme): Rgb {
  const [to, share] = theme === "light" ? [0, 0.45] : [255, 0.35];
  return color.map((v) => Math.round(v + (to - v) * share)) as Rgb;
}

export function lassoLine({ context, theme }: Drawing, line: [number, number][]): void {
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
