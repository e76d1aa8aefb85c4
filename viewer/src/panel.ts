/** The controls next to the maps. */

import type { App } from "./app";
import type { ColorMode } from "./colors";
import { download, toCsv } from "./csv";
import { type MapData, pointName } from "./dataset";
import type { ScoreTable } from "./header";
import { formatCount, dataText, h } from "./dom";
import { showHelp } from "./keys";
import { createLegend } from "./legend";
import { MAX_ELLIPSES } from "./overlay";
import { corners, RECTANGLE_KEYS, toggleRectangle } from "./rectangle";
import { flags, knownColumns } from "./reliability";
import { Search } from "./search";
import { differenceTable, findDifferences } from "./differences";
import { Slider } from "./slider";
import { createSelection, type StateKey, type State } from "./store";

/** Largest number of search results in the list. */
const MAX_RESULTS = 50;

/** Names of the boolean properties of the state. */
type Flag = { [K in StateKey]: State[K] extends boolean ? K : never }[StateKey];

export class Panel {
  readonly element = h("form", { class: "panel", "aria-label": "Controls", onsubmit: (event: Event) => event.preventDefault() });
  readonly search = h("input", { type: "search", id: "search", placeholder: "id, text, class or row  ( / )", autocomplete: "off", spellcheck: false });
  private readonly color = h("select", { id: "color" });
  private readonly legend = h("div", { id: "legend" });
  private readonly results = h("ul", { class: "results", "aria-label": "Points found" });
  private readonly found = h("p", { class: "note", role: "status" });
  private readonly hide = h("input", { type: "range", id: "hide", min: "0", max: "99", step: "1", value: "0" });
  private readonly hidePercent = h("output", { htmlFor: "hide" });
  private readonly size = h("input", { type: "range", id: "size", min: "-1.5", max: "2", step: "0.1", value: "0" });
  private readonly selected = h("p", { class: "note", id: "selected", role: "status" });
  private readonly exportButton = h("button", { type: "button", onclick: () => this.exportSelection() }, "Export CSV");
  private readonly clearButton = h("button", { type: "button", onclick: () => this.app.store.set({ selection: null }) }, "Clear");
  private readonly lasso = h("button", { type: "button", title: "Draw around points (L, or shift-drag)", onclick: () => this.toggle("lasso") }, "Lasso");
  private readonly rectangle = h("button", { type: "button", title: `A rectangle on the map (R): ${RECTANGLE_KEYS}`, onclick: () => toggleRectangle(this.app) }, "Rectangle");
  private readonly differences = h("div", { class: "wide-table", id: "differences" });
  private differenceTimer = 0;
  private statusTimer = 0;
  private readonly theme = h("button", { type: "button", onclick: () => this.toggleTheme() });
  private readonly tabs = h("div", { class: "tabs", role: "group", "aria-label": "Maps" });
  private readonly visibleCount = h("p", { class: "note", id: "visible-count" });
  private readonly checks = new Map<Flag, HTMLInputElement>();
  private readonly finder: Search;
  private readonly slider: Slider | null = null;
  private scores: HTMLElement | null = null;
  private searchTimer = 0;

  constructor(private readonly app: App) {
    const { data, store } = app;
    this.finder = new Search(data);
    const fit = h("button", { type: "button", title: "Show the entire map (0)", onclick: () => app.fit() }, "Fit");
    const keys = h("button", { type: "button", title: "Keys (?)", onclick: () => showHelp() }, "Keys");
    const buttons = h("div", { class: "row" }, fit, this.theme, keys);
    this.element.append(h("header", {}, h("h1", {}, dataText(data.title || "lowland", 120)), this.visibleCount, buttons));
    if (data.slider) this.element.append(section("Map", (this.slider = new Slider(app, data.slider)).element));
    if (data.maps.length > 1) this.element.append(this.tabs);
    if (!data.slider && canMorph(data.maps)) {
      // From any map to the next.
      const header = { label: "From map to map:", values: data.maps.map((_, at) => at), names: data.maps.map((map) => map.name) };
      this.element.append(section("Morph", (this.slider = new Slider(app, header)).element));
    }
    if (data.table) this.element.append(section("Scores", (this.scores = scores(data.table))));
    this.element.append(
      labeledSection("Search", "search", this.search, this.found, this.results),
      labeledSection("Color by", "color", this.color, this.legend),
    );
    const std = data.maps.some((map) => map.std);
    if (std) {
      const label = h("label", { htmlFor: "hide" }, "Hide the least certain ", this.hidePercent);
      // Without covariances, ellipses are circles.
      const shape = data.maps.some((map) => map.covariances) ? "Ellipses" : "Circles";
      this.element.append(section("Certainty", label, this.hide, this.check("circles", `${shape} of one std (up to ${formatCount(MAX_ELLIPSES)})`)));
    }
    const columns = knownColumns(data.maps);
    if (columns.length > 0) {
      const checks: HTMLElement[] = [];
      if (data.maps.some((map) => flags(map))) checks.push(this.check("flagged", "Flagged points hollow"));
      if (data.maps.some((map) => map.bridges.length > 0)) checks.push(this.check("bridges", "Lines between islands that are connected in the data"));
      const terms = columns.flatMap(({ name, meaning }) => [h("dt", {}, name), h("dd", {}, meaning)]);
      const explained = h("details", {}, h("summary", {}, "What the scores mean"), h("dl", { class: "meanings" }, ...terms));
      this.element.append(section("Reliability", ...checks, explained));
    }
    if (data.neighbors?.lists) this.element.append(section("True neighbors", this.check("neighbors", "Lines from the point"), lineKey()));
    this.element.append(
      section("Selection", h("div", { class: "row" }, this.lasso, this.rectangle, this.exportButton, this.clearButton), this.selected, this.differences),
      section("Points", h("label", { htmlFor: "size" }, "Size"), this.size, ...this.nameChecks()),
    );
    this.color.addEventListener("change", () => store.set({ mode: JSON.parse(this.color.value) as ColorMode, hiddenClasses: new Set() }));
    this.hide.addEventListener("input", () => store.set({ hide: Number(this.hide.value) }));
    this.size.addEventListener("input", () => store.set({ size: 2 ** Number(this.size.value) }));
    this.search.addEventListener("input", () => {
      clearTimeout(this.searchTimer);
      this.searchTimer = window.setTimeout(() => this.runSearch(), data.rows > 100_000 ? 250 : 60);
    });
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
  }

  /** Fills the controls once the panes exist. */
  start(): void {
    const { data } = this.app;
    const modes: [string, ColorMode][] = data.columns.map(({ name }, column) => [name, { by: "column", column }]);
    if (data.maps.some((map) => map.std)) modes.push(["std: how uncertain a point is", { by: "std" }]);
    if (data.maps.some((map) => map.kept)) modes.push(["neighbors kept (recall)", { by: "recall" }]);
    for (const { name } of knownColumns(data.maps)) modes.push([`reliability: ${name}`, { by: "reliability", name }]);
    modes.push(["nothing", { by: "none" }]);
    // Options are plain text, so that names are never parsed as markup.
    this.color.replaceChildren(...modes.map(([name, mode]) => h("option", { value: JSON.stringify(mode) }, name.slice(0, 80))));
    const keys: StateKey[] = ["mode", "theme", "hide", "selection", "view", "lasso", "neighbors", "circles", "names", "words", "flagged", "bridges"];
    this.refresh(new Set(keys));
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

  toggleTheme(): void {
    this.app.store.set({ theme: this.app.store.state.theme === "dark" ? "light" : "dark" });
  }

  nextColor(): void {
    const { options, selectedIndex } = this.color;
    this.app.store.set({ mode: JSON.parse(options[(selectedIndex + 1) % options.length].value) as ColorMode, hiddenClasses: new Set() });
  }

  refresh(changed: ReadonlySet<StateKey>): void {
    const { state } = this.app.store;
    const has = (...keys: StateKey[]) => keys.some((key) => changed.has(key));
    for (const [flag, box] of this.checks) box.checked = state[flag];
    this.lasso.setAttribute("aria-pressed", String(state.lasso));
    this.rectangle.setAttribute("aria-pressed", String(state.rectangle !== null));
    if (has("mode", "theme", "hiddenClasses", "view")) {
      this.color.value = JSON.stringify(state.mode);
      const pane = this.app.panes[0];
      // Who reached a class by keyboard stays there when it is hidden or shown.
      const focused = Array.from(this.legend.querySelectorAll("button")).indexOf(document.activeElement as HTMLButtonElement);
      this.legend.replaceChildren(...(pane ? [createLegend(this.app, pane.coloring), ...this.meaning()] : []));
      if (focused >= 0 && !has("mode")) this.legend.querySelectorAll("button")[focused]?.focus();
    }
    if (has("hide")) {
      this.hidePercent.value = `${state.hide} %`;
      this.hide.value = String(state.hide);
    }
    if (has("theme")) {
      this.theme.textContent = state.theme === "dark" ? "Light" : "Dark";
      this.theme.title = `Switch to the ${state.theme === "dark" ? "light" : "dark"} theme (D)`;
    }
    if (has("selection")) {
      const selected = state.selection?.count ?? 0;
      this.exportButton.disabled = this.clearButton.disabled = !selected;
      // A brush changes the selection many times a second.
      clearTimeout(this.differenceTimer);
      this.differenceTimer = window.setTimeout(() => this.showDifferences(), selected ? 120 : 0);
    }
    if (has("selection", "rectangle")) this.showSelected();
    if (has("view")) {
      this.drawTabs();
      this.slider?.refresh(this.scores);
    }
    this.updateCount();
  }

  /** Tells how many points are selected, or inside the rectangle. */
  private showSelected(): void {
    clearTimeout(this.statusTimer);
    const { rectangle, selection } = this.app.store.state;
    const [pane] = this.app.panes;
    if (rectangle && pane) {
      // A screen reader would read the count at every step of a held key.
      this.statusTimer = window.setTimeout(() => {
        this.selected.textContent = `${formatCount(pane.countInside(corners(rectangle)))} points in the rectangle: ${RECTANGLE_KEYS}.`;
      }, 150);
      return;
    }
    this.selected.textContent = selection ? `${formatCount(selection.count)} points selected` : "Shift-drag around points to select them, or press R.";
  }

  /** Lists what distinguishes the selected points from the others. */
  private showDifferences(): void {
    const { data, store } = this.app;
    const { selection } = store.state;
    this.differences.replaceChildren(...(selection ? [differenceTable(findDifferences(data, selection.flags))] : []));
  }

  /** Explains what the points are colored by, if it is a column of reliability. */
  private meaning(): HTMLElement[] {
    const { mode } = this.app.store.state;
    const column = mode.by === "reliability" ? knownColumns(this.app.data.maps).find(({ name }) => name === mode.name) : null;
    return column ? [h("p", { class: "note", id: "meaning" }, column.meaning)] : [];
  }

  /** Shows the number of visible points and the renderer. */
  updateCount(): void {
    const pane = this.app.panes[0];
    if (!pane) return;
    const by = pane.renderer.name === "webgl" ? "WebGL2" : "canvas";
    const { rows } = this.app.data;
    const shown = pane.visible === rows ? `${formatCount(rows)} points` : `${formatCount(pane.visible)} of ${formatCount(rows)} points`;
    this.visibleCount.textContent = `${shown} · ${by}`;
  }

  private drawTabs(): void {
    const { data, store } = this.app;
    const tab = (name: string, view: State["view"]) =>
      h("button", { type: "button", "aria-pressed": String(store.state.view === view), onclick: () => store.set({ view }) }, dataText(name, 30));
    // With a slider, one button returns to it.
    const single = data.slider ? [tab("One map", typeof store.state.view === "number" ? store.state.view : 0)] : data.maps.map((map, at) => tab(map.name, at));
    this.tabs.replaceChildren(tab("Side by side", "all"), ...single);
  }

  /** Searches, and lists the results. */
  private runSearch(): void {
    const query = this.search.value;
    const matches = this.finder.find(query);
    this.app.store.set({ matches });
    this.found.textContent = query.trim() ? `${formatCount(matches.length)} found` : "";
    const { data } = this.app;
    const item = (point: number) =>
      h("li", {}, h("button", { type: "button", onclick: () => this.app.reveal(point) }, dataText(pointName(data, point), 80)));
    this.results.replaceChildren(...matches.slice(0, MAX_RESULTS).map(item));
    if (matches.length > 1) {
      const select = () => {
        const flags = new Uint8Array(data.rows);
        for (const point of matches) flags[point] = 1;
        this.app.store.set({ selection: createSelection(flags) });
      };
      this.found.append(" ", h("button", { type: "button", class: "link", onclick: select }, "select them"));
    }
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      clearTimeout(this.searchTimer);
      this.runSearch();
      const [first] = this.app.store.state.matches;
      if (first !== undefined) this.app.reveal(first);
    } else if (event.key === "Escape") {
      this.search.value = "";
      this.runSearch();
      this.app.panes[0]?.focus();
    }
    event.stopPropagation();
  }

  /** Downloads the selected points as CSV. */
  exportSelection(): void {
    const { data, store } = this.app;
    if (store.state.selection) download(`${data.title || "lowland"}-selection.csv`.replace(/[^\w.-]+/g, "_"), toCsv(data, store.state.selection.flags));
  }
}

/** Whether the points can move from every map to the next. */
const canMorph = (maps: MapData[]) => maps.length > 1 && maps.every((map) => map.dim === maps[0].dim);

/** Creates a section of the panel. */
function section(title: string, ...children: (Node | string)[]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, title), ...children);
}

/** Creates a section whose title is the label of its first control. */
function labeledSection(title: string, control: string, ...children: Node[]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, h("label", { htmlFor: control }, title)), ...children);
}

/** Creates a table with a row per score and a column per map; the best value of a row is emphasized. */
function scores({ header, rows }: ScoreTable): HTMLElement {
  const head = h("tr", {}, h("td", {}), ...rows.map(([name]) => h("th", { scope: "col" }, dataText(name.text, 12))));
  const lines = header.slice(1).map((name, at) => {
    const cells = rows.map((row) => h("td", { class: row[at + 1].best ? "best" : "" }, row[at + 1].text));
    return h("tr", {}, h("th", { scope: "row" }, name), ...cells);
  });
  return h("div", { class: "wide-table" }, h("table", { class: "scores" }, head, ...lines));
}

/** Creates the key of the lines to neighbors. */
function lineKey(): HTMLElement {
  const kept = h("span", {}, h("i", { class: "line kept" }), "kept");
  return h("p", { class: "note key" }, kept, h("span", {}, h("i", { class: "line lost" }), "lost in the map"));
}
