/** One map on the screen: its canvases, its camera, and the pointer over it. */

import type { App } from "./app";
import { Camera, type Vec3 } from "./camera";
import { type Coloring, coloring, GROUND } from "./colors";
import type { MapData } from "./dataset";
import { data as text, h } from "./dom";
import { Grid } from "./grid";
import * as overlay from "./overlay";
import { Pointer } from "./pointer";
import { type Kind, type Renderer, renderer } from "./renderer";
import { selectionOf, type Key } from "./store";
import { drawn, inside, painted, visibility } from "./visible";

/** Frames longer than this while something moves: draw fewer points until it rests. */
const SLOW = 45;
const REST = 180;
/** Fewer than this would not look like the map. */
const LEAST = 30_000;
const REACH = 14;

export class Pane {
  readonly element: HTMLElement;
  readonly camera: Camera;
  readonly title = h("div", { class: "pane-title" });
  renderer: Renderer;
  map: MapData;
  lasso: [number, number][] | null = null;
  private readonly over = h("canvas", { class: "over", tabIndex: 0, role: "application" });
  private readonly stage = h("div", { class: "stage" });
  private from: Float32Array;
  private morphStart = 0;
  private morphTime = 0;
  private shown: (point: number) => boolean = () => true;
  /** The shown points, in the order they are drawn. */
  order = new Uint32Array(0);
  private look!: Coloring;
  private grid: Grid | null = null;
  private places: overlay.Middles | null = null;
  private frame = 0;
  private lastFrame = 0;
  private lastMove = 0;
  private wasMoving = false;
  private movedSince = false;
  private budget = Infinity;
  private resting = 0;
  private readonly resizing = new ResizeObserver(() => this.resize());

  constructor(
    private readonly app: App,
    map: MapData,
    kind: Kind,
  ) {
    this.map = map;
    this.from = map.positions;
    this.camera = new Camera(map.dim > 2);
    this.renderer = renderer(kind, app.data.maps.some((each) => each.dim > 2));
    this.stage.append(this.renderer.canvas, this.over);
    this.element = h("section", { class: "pane" }, this.title, this.stage);
    this.renderer.canvas.addEventListener("webglcontextlost", (event) => this.fallBack(event));
    new Pointer(this.over, this, app);
    this.resizing.observe(this.stage);
    this.named();
    this.refresh(new Set<Key>(["mode", "hide"]));
    this.upload();
  }

  /** A lost graphics card must not cost the map. */
  private fallBack(event: Event): void {
    event.preventDefault();
    if (!this.element.isConnected) return;
    const lost = this.renderer.canvas;
    this.renderer = renderer("canvas", false);
    lost.replaceWith(this.renderer.canvas);
    this.resize();
    this.upload();
    this.refresh(new Set<Key>(["mode", "hide"]));
  }

  private named(): void {
    const { name, caption, dim, dimOf } = this.map;
    const note = dimOf > dim ? ` (the first ${dim} of ${dimOf} dimensions)` : "";
    this.title.replaceChildren(h("strong", {}, text(name, 80)), " ", h("span", {}, text(caption + note, 400)));
    const turn = dim > 2 ? "drag to turn, " : "drag to move, ";
    this.over.setAttribute("aria-label", `Map ${name}: ${this.app.data.rows} points; ${turn}scroll to zoom, ? for keys`);
  }

  /** Shows another map in place of this one, moving every point from where it was. */
  show(map: MapData, time = 900): void {
    this.from = this.positionsNow();
    this.map = map;
    this.camera.deep = map.dim > 2;
    if (!this.camera.deep) this.camera.turn = new Camera().turn;
    this.morphTime = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : time;
    this.morphStart = performance.now();
    this.grid = this.places = null;
    this.named();
    this.upload();
    this.refresh(new Set<Key>(["mode", "hide"]));
  }

  /** Part of the way of a morph, 1 when at rest. */
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

  /** Works out again what depends on what has changed. */
  refresh(changed: ReadonlySet<Key>): void {
    const { data, store, shuffle } = this.app;
    const { state } = store;
    const has = (...keys: Key[]) => keys.some((key) => changed.has(key));
    if (has("mode", "theme")) {
      this.look = coloring(data, this.map, state.mode, state.theme);
      this.places = null;
    }
    if (has("mode", "theme", "selection")) {
      const opacity = this.camera.deep ? 1 : data.rows < 3000 ? 0.9 : data.rows < 200_000 ? 0.7 : 0.45;
      this.renderer.setColors(painted(data.rows, this.look.color, opacity, state));
    }
    if (has("mode", "hide", "off", "selection")) {
      this.shown = visibility(data, this.map, state);
      this.order = drawn(shuffle, this.shown, state) as Uint32Array<ArrayBuffer>;
      this.renderer.setOrder(this.order);
    }
    this.invalidate();
  }

  get coloring(): Coloring {
    return this.look;
  }

  /** Points that are drawn. */
  get visible(): number {
    return this.order.length;
  }

  /** Takes the size of its place, and draws at once. */
  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const ratio = this.ratio;
    for (const canvas of [this.renderer.canvas, this.over]) {
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

  /** Draws at the next frame. */
  invalidate(): void {
    this.frame ||= requestAnimationFrame((now) => this.draw(now));
  }

  /** The camera has moved: draw soon, and whole when it rests. */
  moved(): void {
    this.lastMove = performance.now();
    this.movedSince = true;
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.invalidate(), REST + 20);
    this.invalidate();
  }

  /** Diameter of a point in pixels of the page. */
  get pointSize(): number {
    const { width, height, zoom } = this.camera;
    const usual = Math.sqrt((0.22 * width * height) / Math.max(1, this.app.data.rows));
    const size = Math.min(9, Math.max(1.4, usual)) * Math.min(4, Math.max(0.7, zoom ** 0.4));
    return size * this.app.store.state.size;
  }

  private draw(now: number): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    // A slow frame comes long after the move it shows.
    const moving = this.movedSince || performance.now() - this.lastMove < REST || this.t < 1;
    this.movedSince = false;
    const taken = now - this.lastFrame;
    if (moving && this.wasMoving) {
      const drawn = Math.min(this.budget, this.order.length);
      if (taken > SLOW) this.budget = Math.max(LEAST, drawn * Math.max(0.1, (0.7 * SLOW) / taken));
      else if (taken > 5 && taken < 0.4 * SLOW) this.budget = drawn * 1.1;
    }
    this.lastFrame = now;
    this.wasMoving = moving;
    const { ratio } = this;
    const count = Math.floor(Math.min(this.order.length, moving ? this.budget : Infinity));
    const ground = GROUND[this.app.store.state.theme];
    const size = Math.max(1, this.pointSize * ratio);
    this.renderer.draw({ camera: this.camera, t: this.t, size, ratio, count, ground });
    this.drawOver();
    if (this.t < 1) this.invalidate();
  }

  private drawOver(): void {
    const context = this.over.getContext("2d")!;
    const { ratio, camera, map } = this;
    const { data, store } = this.app;
    const { state } = store;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (this.t < 1) return;
    const drawing = { context, camera, data, map, coloring: this.look, theme: state.theme };
    if (state.circles) overlay.ellipses(drawing, this.order);
    const written = new overlay.Written();
    if (state.names && this.look.kind === "class") {
      const { codes, names } = this.look.column;
      this.places ??= overlay.middles(map, codes, names.length);
      overlay.classNames(drawing, this.places, state.off, written);
    }
    if (state.words) overlay.pointNames(drawing, this.order, this.pointSize / 2 + 3, written);
    overlay.rings(drawing, state.matches);
    const { focus } = store;
    if (focus >= 0 && state.neighbors) overlay.neighborLines(drawing, focus);
    for (const point of new Set([state.pinned, state.hover])) {
      if (point >= 0) overlay.ring(drawing, point, Math.max(6, this.pointSize / 2 + 3));
    }
    if (this.lasso) overlay.lassoLine(drawing, this.lasso);
  }

  /** The shown point nearest to a pixel, within reach of it. */
  pick(x: number, y: number): number {
    if (this.t < 1) return -1;
    const { camera, map } = this;
    if (!camera.deep) {
      this.grid ??= new Grid(map.positions);
      const [px, py] = camera.unproject(x, y);
      return this.grid.nearest(px, py, REACH / camera.scale, this.shown);
    }
    const place: Vec3 = [0, 0, 0];
    let [best, least] = [-1, REACH];
    for (const point of this.order) {
      camera.project(map.positions, 3 * point, place);
      // Of points about as near on the screen the one in front is meant.
      const distance = Math.hypot(place[0] - x, place[1] - y) - 4 * place[2];
      if (distance < least && Math.abs(place[0] - x) < REACH && Math.abs(place[1] - y) < REACH) {
        [best, least] = [point, distance];
      }
    }
    return best;
  }

  /** Chooses the shown points inside the lasso, alone or with or without those chosen before. */
  choose(line: [number, number][], how: "replace" | "add" | "remove"): void {
    const { store, data } = this.app;
    const flags = how === "replace" ? new Uint8Array(data.rows) : (store.state.selection?.flags.slice() ?? new Uint8Array(data.rows));
    const [xs, ys] = [line.map(([x]) => x), line.map(([, y]) => y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const place: Vec3 = [0, 0, 0];
    const { positions } = this.map;
    for (const point of this.order) {
      this.camera.project(positions, 3 * point, place);
      const x = place[0];
      const y = place[1];
      if (x < left || x > right || y < top || y > bottom || !inside(x, y, line)) continue;
      flags[point] = how === "remove" ? 0 : 1;
    }
    store.set({ selection: selectionOf(flags) });
  }

  /** Brings a point to the middle, near enough to see its surroundings. */
  center(point: number): void {
    const { positions } = this.map;
    this.camera.center = [positions[3 * point], positions[3 * point + 1], positions[3 * point + 2]];
    this.camera.zoom = Math.max(this.camera.zoom, 4);
    this.app.sync(this);
  }

  /** Where a point is on the screen, in pixels of the page. */
  screen(point: number): { x: number; y: number } {
    const { left, top } = this.over.getBoundingClientRect();
    const [x, y] = this.camera.project(this.map.positions, 3 * point, [0, 0, 0]);
    return { x: left + x, y: top + y };
  }

  focus(): void {
    this.over.focus({ preventScroll: true });
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.resting);
    this.resizing.disconnect();
    this.renderer.dispose();
  }
}
