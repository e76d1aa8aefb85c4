/** Keyboard shortcuts and their help dialog. */

import type { App } from "./app";
import { h } from "./dom";
import { handleRectangleKey, toggleRectangle } from "./rectangle";

const KEYS: [string, string][] = [
  ["drag · arrow keys", "move a map, or rotate it if it has three dimensions (control-drag or shift-arrow: move it)"],
  ["wheel · pinch · + −", "zoom"],
  ["0", "show the entire map"],
  ["click", "pin the card and the lines of a point; click again to unpin"],
  ["P · J  K", "pin the point nearest to the middle of the map · previous and next point, of the selection if there is one"],
  ["shift-drag · L", "select points with a lasso (control: add, alt: remove)"],
  ["R", "select points with a rectangle: arrow keys move it, shift-arrows resize it, Enter selects (control: add, alt: remove)"],
  ["S", "on a class of the legend: select its points (shift: add them)"],
  ["E", "export the selected points as CSV"],
  ["/", "search"],
  ["C", "color by the next column"],
  ["[  ]", "hide fewer or more of the least certain points"],
  ["N · U", "lines to the true neighbors · ellipses of one std"],
  ["T · W", "names of classes · names of points"],
  ["F · B", "flagged points hollow · lines between islands that are connected in the data"],
  ["M · A", "next map, with moving points · all maps side by side"],
  ["D", "dark or light theme"],
  ["Escape", "clear pin, selection and search"],
  ["?", "these keys"],
];

/** Distance that an arrow key moves the map, in CSS pixels. */
const PAN_STEP = 60;
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** Opens the help dialog. */
export function showHelp(): void {
  const table = h("table", {}, ...KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, what))));
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() }, h("h2", {}, "Keys"), table, close);
  document.body.append(dialog);
  dialog.showModal();
}

/** Handles keys on the entire page, except while the user is typing. */
export function listenToKeys(app: App): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    // An open dialog handles Escape itself.
    const ignored = document.querySelector("dialog[open]") || (target.closest("input, select") && event.key !== "Escape");
    if (ignored) return;
    // A focused button handles these keys itself.
    if (target.closest("button") && (event.key === "Enter" || event.key === " ")) return;
    const [pane] = app.panes;
    if (pane && handleRectangleKey(app, pane, event)) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(app, event)) event.preventDefault();
  });
}

function handleKey(app: App, event: KeyboardEvent): boolean {
  const { store, data, panel } = app;
  const { state } = store;
  const pane = app.panes[0];
  const zoom = (factor: number) => {
    if (!pane) return;
    pane.camera.zoomAt(factor, pane.camera.width / 2, pane.camera.height / 2);
    app.sync(pane);
  };
  const arrow = ARROWS[event.key];
  if (arrow && pane) {
    if (pane.camera.is3d && !event.shiftKey) pane.camera.rotate(-0.1 * arrow[0], -0.1 * arrow[1]);
    else pane.camera.pan(PAN_STEP * arrow[0], PAN_STEP * arrow[1]);
    app.sync(pane);
    return true;
  }
  const actions: Record<string, () => void> = {
    "+": () => zoom(1.4),
    "=": () => zoom(1.4),
    "-": () => zoom(1 / 1.4),
    "0": () => app.fit(),
    "/": () => panel.search.focus(),
    "?": () => showHelp(),
    "[": () => store.set({ hide: Math.max(0, state.hide - 5) }),
    "]": () => store.set({ hide: Math.min(95, state.hide + 5) }),
    a: () => data.maps.length > 1 && store.set({ view: "all" }),
    c: () => panel.nextColor(),
    d: () => panel.toggleTheme(),
    e: () => panel.exportSelection(),
    l: () => panel.toggle("lasso"),
    m: () => data.maps.length > 1 && store.set({ view: state.view === "all" ? 0 : (Math.floor(state.view) + 1) % data.maps.length }),
    n: () => panel.toggle("neighbors"),
    p: () => app.pinMiddle(),
    r: () => toggleRectangle(app),
    j: () => app.step(-1),
    k: () => app.step(1),
    f: () => panel.toggle("flagged"),
    b: () => panel.toggle("bridges"),
    t: () => panel.toggle("names"),
    w: () => panel.toggle("words"),
    u: () => panel.toggle("circles"),
    Escape: () => store.set({ pinned: -1, hover: -1, selection: null, matches: [], lasso: false }),
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  action?.();
  return Boolean(action);
}
