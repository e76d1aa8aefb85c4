/** A map on the screen: its canvases, camera and pointer events. */

import type { App } from "./app";
import { Camera, type Vec3 } from "./camera";
import { type Coloring, BACKGROUND, createColoring } from "./colors";
import type { MapData } from "./dataset";
import { dataText, h } from "./dom";
import { PointGrid } from "./grid";
import * as overlay from "./overlay";
import { Pointer } from "./pointer";
import { corners } from "./rectangle";
import { flags } from "./reliability";
import { createRenderer, type Renderer, type RendererKind } from "./renderer";
import { createSelection, selectedBefore, type SelectionChange, type StateKey } from "./store";
import { drawOrder, isInside, pointColors, visibility } from "./visible";

/** If frames take longer than this while the map moves, fewer points are drawn until it rests; in milliseconds. */
const SLOW_FRAME = 45;
/** Time after the last movement at which all points are drawn again, in milliseconds. */
const REST_TIME = 180;
/** Smallest number of points to draw while the map moves. */
const MIN_POINTS = 30_000;
/** Largest distance between the pointer and a point, in CSS pixels. */
const PICK_RADIUS = 14;

export class Pane {
  readonly element: HTMLElement;
  readonly camera: Camera;
  readonly title = h("div", { class: "pane-title" });
  renderer: Renderer;
  map: MapData;
  lasso: [number, number][] | null = null;
  private readonly overlayCanvas = h("canvas", { class: "overlay", tabIndex: 0, role: "application" });
  private readonly stage = h("div", { class: "stage" });
  private from: Float32Array;
  private morphStart = 0;
  private morphTime = 0;
  private isShown: (point: number) => boolean = () => true;
  /** The visible points in drawing order. */
  order = new Uint32Array(0);
  private currentColoring!: Coloring;
  /** The flags of points that are drawn hollow. */
  private hollow: Float32Array | null = null;
  private grid: PointGrid | null = null;
  private centers: overlay.ClassCenters | null = null;
  private frame = 0;
  private lastFrame = 0;
  private lastMove = 0;
  private wasMoving = false;
  private hasMoved = false;
  private maxPoints = Infinity;
  private restTimer = 0;
  private readonly resizeObserver = new ResizeObserver(() => this.resize());

  constructor(
    private readonly app: App,
    map: MapData,
    kind: RendererKind,
  ) {
    this.map = map;
    this.from = map.positions;
    this.camera = new Camera(map.dim > 2);
    this.renderer = createRenderer(kind, app.data.maps.some((each) => each.dim > 2));
    this.stage.append(this.renderer.canvas, this.overlayCanvas);
    this.element = h("section", { class: "pane" }, this.title, this.stage);
    this.renderer.canvas.addEventListener("webglcontextlost", (event) => this.fallBack(event));
    new Pointer(this.overlayCanvas, this, app);
    this.resizeObserver.observe(this.stage);
    this.updateTitle();
    this.refresh(new Set<StateKey>(["mode", "hide"]));
    this.upload();
  }

  /** Continues without WebGL after the loss of its context. */
  private fallBack(event: Event): void {
    event.preventDefault();
    if (!this.element.isConnected) return;
    const lost = this.renderer.canvas;
    this.renderer = createRenderer("canvas", false);
    lost.replaceWith(this.renderer.canvas);
    this.resize();
    this.upload();
    this.refresh(new Set<StateKey>(["mode", "hide"]));
  }

  private updateTitle(): void {
    const { name, caption, dim, dimOf } = this.map;
    const note = dimOf > dim ? ` (the first ${dim} of ${dimOf} dimensions)` : "";
    this.title.replaceChildren(h("strong", {}, dataText(name, 80)), " ", h("span", {}, dataText(caption + note, 400)));
    const drag = dim > 2 ? "drag to rotate, " : "drag to move, ";
    this.overlayCanvas.setAttribute("aria-label", `Map ${name}: ${this.app.data.rows} points; ${drag}scroll to zoom, ? for keys`);
  }

  /** Replaces the map; the points move from their current positions. */
  show(map: MapData, time = 900): void {
    this.from = this.positionsNow();
    this.map = map;
    this.camera.is3d = map.dim > 2;
    if (!this.camera.is3d) this.camera.rotation = new Camera().rotation;
    this.morphTime = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : time;
    this.morphStart = performance.now();
    this.grid = this.centers = null;
    this.updateTitle();
    this.upload();
    this.refresh(new Set<StateKey>(["mode", "hide"]));
  }

  /** Progress of the animation from one map to another; 1 at rest. */
  get t(): number {
    const t = this.morphTime > 0 ? (performance.now() - this.morphStart) / this.morphTime : 1;
    return t >= 1 ? 1 : t < 0 ? 0 : t * t * (3 - 2 * t);
  }

  private positionsNow(): Float32Array {
    const { t, from } = this;
    const to = this.map.positions;
    return t >= 1 ? to : Float32Array.from(to, (v, i) => from[i] + t * (v - from[i]));
  }

  private upload(): void {
    this.renderer.setPositions(this.from, this.map.positions);
    this.invalidate();
  }

  /** Updates everything that depends on the changed state. */
  refresh(changed: ReadonlySet<StateKey>): void {
    const { data, store, shuffle } = this.app;
    const { state } = store;
    const has = (...keys: StateKey[]) => keys.some((key) => changed.has(key));
    if (has("mode", "theme")) {
      this.currentColoring = createColoring(data, this.map, state.mode, state.theme);
      this.centers = null;
    }
    if (has("mode", "theme", "selection", "flagged")) {
      this.hollow = state.flagged ? flags(this.map) : null;
      const opacity = this.camera.is3d ? 1 : data.rows < 3000 ? 0.9 : data.rows < 200_000 ? 0.7 : 0.45;
      this.renderer.setColors(pointColors(data.rows, this.currentColoring.color, opacity, state, this.hollow));
    }
    if (has("mode", "hide", "hiddenClasses", "selection")) {
      this.isShown = visibility(data, this.map, state);
      this.order = drawOrder(shuffle, this.isShown, state) as Uint32Array<ArrayBuffer>;
      this.renderer.setOrder(this.order);
    }
    this.invalidate();
  }

  get coloring(): Coloring {
    return this.currentColoring;
  }

  /** Number of visible points. */
  get visible(): number {
    return this.order.length;
  }

  /** Adapts to the size of the pane and draws immediately. */
  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const ratio = this.ratio;
    for (const canvas of [this.renderer.canvas, this.overlayCanvas]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.camera.width = Math.max(1, width);
    this.camera.height = Math.max(1, height);
    this.draw(performance.now());
  }

  private get ratio(): number {
    return Math.min(2, devicePixelRatio || 1);
  }

  /** Draws in the next frame. */
  invalidate(): void {
    this.frame ||= requestAnimationFrame((now) => this.draw(now));
  }

  /** Draws after a movement of the camera: soon, and with all points once it rests. */
  moved(): void {
    this.lastMove = performance.now();
    this.hasMoved = true;
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => this.invalidate(), REST_TIME + 20);
    this.invalidate();
  }

  /** Diameter of a point in CSS pixels. */
  get pointSize(): number {
    const { width, height, zoom } = this.camera;
    const base = Math.sqrt((0.22 * width * height) / Math.max(1, this.app.data.rows));
    const size = Math.min(9, Math.max(1.4, base)) * Math.min(4, Math.max(0.7, zoom ** 0.4));
    return size * this.app.store.state.size;
  }

  private draw(now: number): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    // A slow frame is drawn long after the movement.
    const moving = this.hasMoved || performance.now() - this.lastMove < REST_TIME || this.t < 1;
    this.hasMoved = false;
    const elapsed = now - this.lastFrame;
    if (moving && this.wasMoving) {
      const drawn = Math.min(this.maxPoints, this.order.length);
      if (elapsed > SLOW_FRAME) this.maxPoints = Math.max(MIN_POINTS, drawn * Math.max(0.1, (0.7 * SLOW_FRAME) / elapsed));
      else if (elapsed > 5 && elapsed < 0.4 * SLOW_FRAME) this.maxPoints = drawn * 1.1;
    }
    this.lastFrame = now;
    this.wasMoving = moving;
    const { ratio } = this;
    const count = Math.floor(Math.min(this.order.length, moving ? this.maxPoints : Infinity));
    const background = BACKGROUND[this.app.store.state.theme];
    const size = Math.max(1, this.pointSize * ratio);
    this.renderer.draw({ camera: this.camera, t: this.t, size, ratio, count, background });
    this.drawOverlay();
    if (this.t < 1) this.invalidate();
  }

  private drawOverlay(): void {
    const context = this.overlayCanvas.getContext("2d")!;
    const { ratio, camera, map } = this;
    const { data, store } = this.app;
    const { state } = store;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (this.t < 1) return;
    const drawing = { context, camera, data, map, coloring: this.currentColoring, theme: state.theme };
    if (this.hollow) overlay.hollowPoints(drawing, this.order, this.hollow, this.pointSize / 2);
    if (state.bridges) overlay.bridgeLines(drawing);
    if (state.circles) overlay.ellipses(drawing, this.order);
    const space = new overlay.LabelSpace();
    if (state.names && this.currentColoring.kind === "class") {
      const { codes, names } = this.currentColoring.column;
      this.centers ??= overlay.classCenters(map, codes, names.length);
      overlay.classNames(drawing, this.centers, state.hiddenClasses, space);
    }
    if (state.words) overlay.pointNames(drawing, this.order, this.pointSize / 2 + 3, space);
    overlay.rings(drawing, state.matches);
    const { focus } = store;
    if (focus >= 0 && state.neighbors) overlay.neighborLines(drawing, focus);
    for (const point of new Set([state.pinned, state.hover])) {
      if (point >= 0) overlay.ring(drawing, point, Math.max(6, this.pointSize / 2 + 3));
    }
    if (this.lasso) overlay.lassoLine(drawing, this.lasso);
    if (state.rectangle && this === this.app.panes[0]) overlay.lassoLine(drawing, corners(state.rectangle));
  }

  /** Returns the visible point nearest to a pixel, or -1. */
  pick(x: number, y: number): number {
    if (this.t < 1) return -1;
    const { camera, map } = this;
    if (!camera.is3d) {
      this.grid ??= new PointGrid(map.positions);
      const [px, py] = camera.unproject(x, y);
      return this.grid.nearest(px, py, PICK_RADIUS / camera.scale, this.isShown);
    }
    const projected: Vec3 = [0, 0, 0];
    let [best, least] = [-1, PICK_RADIUS];
    for (const point of this.order) {
      camera.project(map.positions, 3 * point, projected);
      // Prefers the point in front among those about equally close on the screen.
      const distance = Math.hypot(projected[0] - x, projected[1] - y) - 4 * projected[2];
      if (distance < least && Math.abs(projected[0] - x) < PICK_RADIUS && Math.abs(projected[1] - y) < PICK_RADIUS) {
        [best, least] = [point, distance];
      }
    }
    return best;
  }

  /** Selects the visible points inside a line, or adds them to or removes them from the selection. */
  selectInside(line: [number, number][], how: SelectionChange): void {
    const { store, data } = this.app;
    const flags = selectedBefore(store.state, data.rows, how);
    this.forEachInside(line, (point) => (flags[point] = how === "remove" ? 0 : 1));
    store.set({ selection: createSelection(flags) });
  }

  /** Returns the number of visible points inside a line. */
  countInside(line: [number, number][]): number {
    let count = 0;
    this.forEachInside(line, () => count++);
    return count;
  }

  private forEachInside(line: [number, number][], found: (point: number) => void): void {
    const [xs, ys] = [line.map(([x]) => x), line.map(([, y]) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const projected: Vec3 = [0, 0, 0];
    const { positions } = this.map;
    for (const point of this.order) {
      this.camera.project(positions, 3 * point, projected);
      const x = projected[0];
      const y = projected[1];
      if (x >= left && x <= right && y >= top && y <= bottom && isInside(x, y, line)) found(point);
    }
  }

  /** Centers a point and zooms in on it. */
  center(point: number): void {
    const { positions } = this.map;
    this.camera.center = [positions[3 * point], positions[3 * point + 1], positions[3 * point + 2]];
    this.camera.zoom = Math.max(this.camera.zoom, 4);
    this.app.sync(this);
  }

  /** Returns the position of a point in the window, in CSS pixels. */
  screen(point: number): { x: number; y: number } {
    const { left, top } = this.overlayCanvas.getBoundingClientRect();
    const [x, y] = this.camera.project(this.map.positions, 3 * point, [0, 0, 0]);
    return { x: left + x, y: top + y };
  }

  focus(): void {
    this.overlayCanvas.focus({ preventScroll: true });
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.restTimer);
    this.resizeObserver.disconnect();
    this.renderer.dispose();
  }
}
