/** The controls beside the maps. */

import type { App } from "./app";
import type { Mode } from "./colors";
import { csv, download } from "./csv";
import { nameOf } from "./dataset";
import type { Table } from "./header";
import { count, data as text, h } from "./dom";
import { help } from "./keys";
import { legend } from "./legend";
import { MOST_CIRCLES } from "./overlay";
import { Search } from "./search";
import { selectionOf, type Key, type State } from "./store";

const MOST_RESULTS = 50;

type Flag = { [K in Key]: State[K] extends boolean ? K : never }[Key];

export class Panel {
  readonly element = h("form", { class: "panel", "aria-label": "Controls", onsubmit: (event: Event) => event.preventDefault() });
  readonly search = h("input", { type: "search", id: "search", placeholder: "id, text, class or row  ( / )", autocomplete: "off", spellcheck: false });
  private readonly color = h("select", { id: "color" });
  private readonly legend = h("div", { id: "legend" });
  private readonly results = h("ul", { class: "results", "aria-label": "Points found" });
  private readonly found = h("p", { class: "note", role: "status" });
  private readonly hide = h("input", { type: "range", id: "hide", min: "0", max: "99", step: "1", value: "0" });
  private readonly hidden = h("output", { htmlFor: "hide" });
  private readonly size = h("input", { type: "range", id: "size", min: "-1.5", max: "2", step: "0.1", value: "0" });
  private readonly chosen = h("p", { class: "note", id: "chosen", role: "status" });
  private readonly export = h("button", { type: "button", onclick: () => this.save() }, "Export CSV");
  private readonly clear = h("button", { type: "button", onclick: () => this.app.store.set({ selection: null }) }, "Clear");
  private readonly lasso = h("button", { type: "button", title: "Draw around points (L, or shift and drag)", onclick: () => this.toggle("lasso") }, "Lasso");
  private readonly theme = h("button", { type: "button", onclick: () => this.turnTheme() });
  private readonly tabs = h("div", { class: "tabs", role: "group", "aria-label": "Maps" });
  private readonly drawn = h("p", { class: "note", id: "drawn" });
  private readonly checks = new Map<Flag, HTMLInputElement>();
  private readonly finder: Search;
  private waiting = 0;

  constructor(private readonly app: App) {
    const { data, store } = app;
    this.finder = new Search(data);
    const fit = h("button", { type: "button", title: "Show the whole map (0)", onclick: () => app.fit() }, "Fit");
    const keys = h("button", { type: "button", title: "Keys (?)", onclick: () => help() }, "Keys");
    const buttons = h("div", { class: "row" }, fit, this.theme, keys);
    this.element.append(h("header", {}, h("h1", {}, text(data.title || "lowland", 120)), this.drawn, buttons));
    if (data.maps.length > 1) this.element.append(this.tabs);
    if (data.table) this.element.append(section("Scores", scores(data.table)));
    this.element.append(
      group("Search", "search", this.search, this.found, this.results),
      group("Colour by", "color", this.color, this.legend),
    );
    const std = data.maps.some((map) => map.std);
    if (std) {
      const label = h("label", { htmlFor: "hide" }, "Hide the least certain ", this.hidden);
      // A standard deviation without directions is a circle.
      const shape = data.maps.some((map) => map.covariances) ? "Ellipses" : "Circles";
      this.element.append(section("Certainty", label, this.hide, this.check("circles", `${shape} of one std (up to ${count(MOST_CIRCLES)})`)));
    }
    if (data.neighbors?.lists) this.element.append(section("True neighbours", this.check("neighbors", "Lines from the point"), key()));
    this.element.append(
      section("Selection", h("div", { class: "row" }, this.lasso, this.export, this.clear), this.chosen),
      section("Points", h("label", { htmlFor: "size" }, "Size"), this.size, ...this.nameChecks()),
    );
    this.color.addEventListener("change", () => store.set({ mode: JSON.parse(this.color.value) as Mode, off: new Set() }));
    this.hide.addEventListener("input", () => store.set({ hide: Number(this.hide.value) }));
    this.size.addEventListener("input", () => store.set({ size: 2 ** Number(this.size.value) }));
    this.search.addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = window.setTimeout(() => this.look(), data.rows > 100_000 ? 250 : 60);
    });
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
  }

  /** Called once the panes are there. */
  start(): void {
    const { data } = this.app;
    const modes: [string, Mode][] = data.columns.map(({ name }, column) => [name, { by: "column", column }]);
    if (data.maps.some((map) => map.std)) modes.push(["std: how uncertain a point is", { by: "std" }]);
    if (data.maps.some((map) => map.kept)) modes.push(["neighbours kept (recall)", { by: "recall" }]);
    modes.push(["nothing", { by: "none" }]);
    // Options are plain text: a name that looks like markup stays a name.
    this.color.replaceChildren(...modes.map(([name, mode]) => h("option", { value: JSON.stringify(mode) }, name.slice(0, 80))));
    const every: Key[] = ["mode", "theme", "hide", "selection", "view", "lasso", "neighbors", "circles", "names", "words"];
    this.refresh(new Set(every));
  }

  private nameChecks(): HTMLElement[] {
    const { columns, ids } = this.app.data;
    const checks = columns.some((column) => column.kind === "class") ? [this.check("names", "Names of classes")] : [];
    return ids ? [...checks, this.check("words", "Names of points, where there is room")] : checks;
  }

  private check(flag: Flag, label: string): HTMLElement {
    const box = h("input", { type: "checkbox", onchange: () => this.app.store.set({ [flag]: box.checked }) });
    this.checks.set(flag, box);
    return h("label", { class: "check" }, box, label);
  }

  toggle(flag: Flag): void {
    this.app.store.set({ [flag]: !this.app.store.state[flag] });
  }

  turnTheme(): void {
    this.app.store.set({ theme: this.app.store.state.theme === "dark" ? "light" : "dark" });
  }

  nextColor(): void {
    const { options, selectedIndex } = this.color;
    this.app.store.set({ mode: JSON.parse(options[(selectedIndex + 1) % options.length].value) as Mode, off: new Set() });
  }

  refresh(changed: ReadonlySet<Key>): void {
    const { state } = this.app.store;
    const has = (...keys: Key[]) => keys.some((key) => changed.has(key));
    for (const [flag, box] of this.checks) box.checked = state[flag];
    this.lasso.setAttribute("aria-pressed", String(state.lasso));
    if (has("mode", "theme", "off", "view")) {
      this.color.value = JSON.stringify(state.mode);
      const pane = this.app.panes[0];
      this.legend.replaceChildren(...(pane ? [legend(this.app, pane.coloring)] : []));
    }
    if (has("hide")) {
      this.hidden.value = `${state.hide} %`;
      this.hide.value = String(state.hide);
    }
    if (has("theme")) {
      this.theme.textContent = state.theme === "dark" ? "Light" : "Dark";
      this.theme.title = `Turn the page ${state.theme === "dark" ? "light" : "dark"} (D)`;
    }
    if (has("selection")) {
      const chosen = state.selection?.count ?? 0;
      this.chosen.textContent = chosen ? `${count(chosen)} points chosen` : "Shift and drag around points to choose them.";
      this.export.disabled = this.clear.disabled = !chosen;
    }
    if (has("view")) this.drawTabs();
    this.count();
  }

  /** How many points are drawn, and by what. */
  count(): void {
    const pane = this.app.panes[0];
    if (!pane) return;
    const by = pane.renderer.name === "webgl" ? "WebGL2" : "canvas";
    const { rows } = this.app.data;
    const shown = pane.visible === rows ? `${count(rows)} points` : `${count(pane.visible)} of ${count(rows)} points`;
    this.drawn.textContent = `${shown} · ${by}`;
  }

  private drawTabs(): void {
    const { data, store } = this.app;
    const tab = (name: string, view: State["view"]) =>
      h("button", { type: "button", "aria-pressed": String(store.state.view === view), onclick: () => store.set({ view }) }, text(name, 30));
    this.tabs.replaceChildren(tab("Side by side", "all"), ...data.maps.map((map, at) => tab(map.name, at)));
  }

  /** Lists what the words find. */
  private look(): void {
    const words = this.search.value;
    const matches = this.finder.find(words);
    this.app.store.set({ matches });
    this.found.textContent = words.trim() ? `${count(matches.length)} found` : "";
    const { data } = this.app;
    const item = (point: number) =>
      h("li", {}, h("button", { type: "button", onclick: () => this.app.reveal(point) }, text(nameOf(data, point), 80)));
    this.results.replaceChildren(...matches.slice(0, MOST_RESULTS).map(item));
    if (matches.length > 1) {
      const choose = () => {
        const flags = new Uint8Array(data.rows);
        for (const point of matches) flags[point] = 1;
        this.app.store.set({ selection: selectionOf(flags) });
      };
      this.found.append(" ", h("button", { type: "button", class: "link", onclick: choose }, "choose them"));
    }
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      clearTimeout(this.waiting);
      this.look();
      const [first] = this.app.store.state.matches;
      if (first !== undefined) this.app.reveal(first);
    } else if (event.key === "Escape") {
      this.search.value = "";
      this.look();
      this.app.panes[0]?.focus();
    }
    event.stopPropagation();
  }

  /** The chosen points as a file. */
  save(): void {
    const { data, store } = this.app;
    if (store.state.selection) download(`${data.title || "lowland"}-selection.csv`.replace(/[^\w.-]+/g, "_"), csv(data, store.state.selection.flags));
  }
}

function section(title: string, ...children: (Node | string)[]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, title), ...children);
}

/** A section whose title names its first control. */
function group(title: string, control: string, ...children: Node[]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, h("label", { htmlFor: control }, title)), ...children);
}

/** A line for each score, a column for each map; the best of a line stands out. */
function scores({ header, rows }: Table): HTMLElement {
  const head = h("tr", {}, h("td", {}), ...rows.map(([name]) => h("th", { scope: "col" }, text(name.text, 12))));
  const lines = header.slice(1).map((name, at) => {
    const cells = rows.map((row) => h("td", { class: row[at + 1].best ? "best" : "" }, row[at + 1].text));
    return h("tr", {}, h("th", { scope: "row" }, name), ...cells);
  });
  return h("div", { class: "wide-table" }, h("table", { class: "scores" }, head, ...lines));
}

function key(): HTMLElement {
  const kept = h("span", {}, h("i", { class: "line kept" }), "kept");
  return h("p", { class: "note key" }, kept, h("span", {}, h("i", { class: "line lost" }), "lost in the map"));
}
