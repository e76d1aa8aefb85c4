/** The application: maps, control panel and card. */

import type { Vec3 } from "./camera";
import { Card } from "./card";
import type { ColorMode, Theme } from "./colors";
import { type Dataset, mapBetween } from "./dataset";
import { h } from "./dom";
import { listenToKeys } from "./keys";
import { Pane } from "./pane";
import { Panel } from "./panel";
import type { Rectangle } from "./rectangle";
import type { RendererKind } from "./renderer";
import { Store } from "./store";
import { shuffledOrder } from "./visible";

/** Browsers support about sixteen WebGL contexts; further maps are drawn without WebGL. */
const MAX_CONTEXTS = 12;
/** By default, ids are shown next to points only if all are at most this long. */
const MAX_ID_LENGTH = 32;

export class App {
  readonly store: Store;
  readonly shuffle: Uint32Array;
  readonly panel: Panel;
  panes: Pane[] = [];
  /** Where points were last selected by keys. */
  lastRectangle: Rectangle | null = null;
  private readonly area = h("div", { class: "maps" });
  private readonly card: Card;

  constructor(
    readonly data: Dataset,
    root: HTMLElement,
    private readonly kind: RendererKind,
  ) {
    this.shuffle = shuffledOrder(data.rows);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const { start } = data;
    this.store = new Store({
      mode: start.mode ?? defaultColorMode(data),
      theme: start.dark || dark.matches ? "dark" : "light",
      hide: start.hide,
      hiddenClasses: new Set(),
      selection: null,
      hover: -1,
      pinned: -1,
      matches: [],
      neighbors: Boolean(data.neighbors?.lists),
      circles: start.circles,
      names: start.names,
      flagged: start.flagged,
      bridges: start.bridges,
      words: start.words || (data.ids !== null && data.ids.every((id) => id.length <= MAX_ID_LENGTH)),
      size: 1,
      lasso: false,
      rectangle: null,
      view: data.maps.length > 1 && !data.slider ? "all" : 0,
    });
    dark.addEventListener("change", () => this.store.set({ theme: dark.matches ? "dark" : "light" }));
    this.panel = new Panel(this);
    this.card = new Card(this);
    root.replaceChildren(this.area, this.panel.element, this.card.element);
    this.store.on((changed, before) => {
      if (changed.has("theme")) this.applyTheme(this.store.state.theme);
      if (changed.has("view")) this.arrange(before.view);
      for (const pane of this.panes) pane.refresh(changed);
      this.panel.refresh(changed);
      this.card.refresh(changed);
      this.area.classList.toggle("selecting", this.store.state.lasso);
    });
    this.applyTheme(this.store.state.theme);
    this.arrange("all");
    listenToKeys(this);
  }

  private applyTheme(theme: Theme): void {
    document.documentElement.dataset.theme = theme;
  }

  /** Creates the panes. If one map replaces another, the pane is reused and its points move. */
  arrange(before: "all" | number): void {
    const { maps } = this.data;
    const { view } = this.store.state;
    const wanted = view === "all" || maps.length === 0 ? maps : [mapBetween(maps, view)];
    if (view !== "all" && before !== "all" && this.panes.length === 1 && wanted.length === 1) {
      // A slider sets the positions itself; from one map to another, the points move on their own.
      const slides = !Number.isInteger(view) || !Number.isInteger(before);
      this.panes[0].show(wanted[0], slides ? 0 : undefined);
      return;
    }
    for (const pane of this.panes) pane.dispose();
    const camera = this.panes[0]?.camera;
    this.panes = wanted.map((map, at) => new Pane(this, map, at < MAX_CONTEXTS ? this.kind : "canvas"));
    if (camera) for (const pane of this.panes) pane.camera.follow(camera);
    // The number of columns for which panes are nearly square.
    const across = Math.max(1, Math.min(wanted.length, Math.round(Math.sqrt(wanted.length * (innerWidth / innerHeight)))));
    this.area.style.setProperty("--across", String(Math.ceil(wanted.length / Math.ceil(wanted.length / across))));
    this.area.replaceChildren(...this.panes.map((pane) => pane.element));
  }

  /** Applies the camera of a pane to all others. */
  sync(from: Pane): void {
    for (const pane of this.panes) {
      if (pane !== from) pane.camera.follow(from.camera);
      pane.moved();
    }
    this.card.place();
  }

  /** Shows the card of the point under the pointer. */
  hover(pane: Pane, point: number): void {
    this.card.pane = pane;
    this.store.set({ hover: point });
  }

  /** Shows entire maps. */
  fit(): void {
    for (const pane of this.panes) {
      pane.camera.fit();
      pane.moved();
    }
    this.card.place();
  }

  /** Pins the point nearest to the middle of the first map, for use without a pointer. */
  pinMiddle(): void {
    const pane = this.panes[0];
    if (!pane || pane.order.length === 0) return;
    const { width, height } = pane.camera;
    const projected: Vec3 = [0, 0, 0];
    let [best, least] = [-1, Infinity];
    for (const point of pane.order) {
      pane.camera.project(pane.map.positions, 3 * point, projected);
      const distance = Math.hypot(projected[0] - width / 2, projected[1] - height / 2);
      if (distance < least) [best, least] = [point, distance];
    }
    this.card.pane = pane;
    this.store.set({ pinned: best, hover: -1 });
  }

  /** Pins the previous or next visible point by row: of the selection, if there is one. */
  step(direction: -1 | 1): void {
    const { selection, pinned } = this.store.state;
    const visible = new Uint8Array(this.data.rows);
    for (const point of this.panes[0]?.order ?? []) visible[point] = selection ? selection.flags[point] : 1;
    const { rows } = this.data;
    let at = pinned < 0 && direction < 0 ? 0 : pinned;
    for (let tried = 0; tried < rows; tried++) {
      at = (at + direction + rows) % rows;
      if (visible[at]) {
        this.card.pane = this.panes[0];
        this.store.set({ pinned: at, hover: -1 });
        return;
      }
    }
  }

  /** Pins a point and centers it. */
  reveal(point: number): void {
    this.store.set({ pinned: point, hover: -1 });
    this.panes[0]?.center(point);
  }
}

/** Returns the first class column, else the first number column, else the standard deviation, else a single color. */
function defaultColorMode(data: Dataset): ColorMode {
  const classes = data.columns.findIndex((column) => column.kind === "class");
  if (classes >= 0) return { by: "column", column: classes };
  if (data.columns.length > 0) return { by: "column", column: 0 };
  if (data.maps.some((map) => map.std)) return { by: "std" };
  return { by: "none" };
}
