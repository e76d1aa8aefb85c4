/** The maps, the panel and the card, held together. */

import { Card } from "./card";
import type { Mode, Theme } from "./colors";
import type { Dataset } from "./dataset";
import { h } from "./dom";
import { listen } from "./keys";
import { Pane } from "./pane";
import { Panel } from "./panel";
import type { Kind } from "./renderer";
import { Store } from "./store";
import { shuffled } from "./visible";

/** Browsers keep about sixteen graphics contexts; the maps beyond are drawn without. */
const MOST_CONTEXTS = 12;
/** Longer ids are not written beside points unless asked for. */
const SHORT = 32;

export class App {
  readonly store: Store;
  readonly shuffle: Uint32Array;
  readonly panel: Panel;
  panes: Pane[] = [];
  private readonly area = h("div", { class: "maps" });
  private readonly card: Card;

  constructor(
    readonly data: Dataset,
    root: HTMLElement,
    private readonly kind: Kind,
  ) {
    this.shuffle = shuffled(data.rows);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const { start } = data;
    this.store = new Store({
      mode: start.mode ?? usualMode(data),
      theme: start.dark || dark.matches ? "dark" : "light",
      hide: start.hide,
      off: new Set(),
      selection: null,
      hover: -1,
      pinned: -1,
      matches: [],
      neighbors: Boolean(data.neighbors?.lists),
      circles: start.circles,
      names: true,
      words: start.words || (data.ids !== null && data.ids.every((id) => id.length <= SHORT)),
      size: 1,
      lasso: false,
      view: data.maps.length > 1 ? "all" : 0,
    });
    dark.addEventListener("change", () => this.store.set({ theme: dark.matches ? "dark" : "light" }));
    this.panel = new Panel(this);
    this.card = new Card(this);
    root.replaceChildren(this.area, this.panel.element, this.card.element);
    this.store.on((changed, before) => {
      if (changed.has("theme")) this.wear(this.store.state.theme);
      if (changed.has("view")) this.arrange(before.view);
      for (const pane of this.panes) pane.refresh(changed);
      this.panel.refresh(changed);
      this.card.refresh(changed);
      this.area.classList.toggle("choosing", this.store.state.lasso);
    });
    this.wear(this.store.state.theme);
    this.arrange("all");
    listen(this);
  }

  private wear(theme: Theme): void {
    document.documentElement.dataset.theme = theme;
  }

  /** Lays out the panes. From one map to another the same pane stays, and its points move. */
  arrange(before: "all" | number): void {
    const { maps } = this.data;
    const { view } = this.store.state;
    const wanted = view === "all" ? maps : maps.slice(view, view + 1);
    if (view !== "all" && before !== "all" && this.panes.length === 1 && wanted.length === 1) {
      this.panes[0].show(wanted[0]);
      return;
    }
    for (const pane of this.panes) pane.dispose();
    const camera = this.panes[0]?.camera;
    this.panes = wanted.map((map, at) => new Pane(this, map, at < MOST_CONTEXTS ? this.kind : "canvas"));
    if (camera) for (const pane of this.panes) pane.camera.follow(camera);
    // As many columns as make the panes nearly square.
    const across = Math.max(1, Math.min(wanted.length, Math.round(Math.sqrt(wanted.length * (innerWidth / innerHeight)))));
    this.area.style.setProperty("--across", String(Math.ceil(wanted.length / Math.ceil(wanted.length / across))));
    this.area.replaceChildren(...this.panes.map((pane) => pane.element));
  }

  /** All panes look where this one looks. */
  sync(from: Pane): void {
    for (const pane of this.panes) {
      if (pane !== from) pane.camera.follow(from.camera);
      pane.moved();
    }
    this.card.place();
  }

  /** The pane the pointer is over tells which point is meant. */
  hover(pane: Pane, point: number): void {
    this.card.pane = pane;
    this.store.set({ hover: point });
  }

  fit(): void {
    for (const pane of this.panes) {
      pane.camera.fit();
      pane.moved();
    }
    this.card.place();
  }

  /** Pins a point and shows where it is. */
  reveal(point: number): void {
    this.store.set({ pinned: point, hover: -1 });
    this.panes[0]?.center(point);
  }
}

/** The first column of classes, else the first of numbers, else what there is to say about certainty. */
function usualMode(data: Dataset): Mode {
  const classes = data.columns.findIndex((column) => column.kind === "class");
  if (classes >= 0) return { by: "column", column: classes };
  if (data.columns.length > 0) return { by: "column", column: 0 };
  if (data.maps.some((map) => map.std)) return { by: "std" };
  return { by: "none" };
}
