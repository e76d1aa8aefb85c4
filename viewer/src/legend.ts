/** The legend of the colors. */

import type { App } from "./app";
import { type Coloring, css, ramp } from "./colors";
import { classLabel, formatCount, dataText, h, formatNumber } from "./dom";
import { createSelection, selectedBefore } from "./store";

/** Largest number of classes in the legend. */
const MAX_CLASSES = 200;

export function createLegend(app: App, coloring: Coloring): HTMLElement {
  if (coloring.kind === "number") return colorBar(app, coloring);
  if (coloring.kind === "class") return classList(app, coloring);
  return h("div", {});
}

function colorBar(app: App, { low, middle, high }: Extract<Coloring, { kind: "number" }>): HTMLElement {
  const { theme } = app.store.state;
  const bar = h("div", { class: "ramp", role: "img", "aria-label": `Colors from ${formatNumber(low)} to ${formatNumber(high)}` });
  const stops = Array.from({ length: 11 }, (_, i) => css(ramp(i / 10, theme)));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ticks = [low, middle, high].map((value) => h("span", {}, formatNumber(value)));
  return h("div", { class: "scale" }, bar, h("div", { class: "ticks" }, ...ticks));
}

/**
 * Creates a button for each class: a click hides or shows it, a click with alt or shift hides all others, and the key S selects its points.
 * A button of its own for that would double the number of tab stops.
 */
function classList(app: App, { column, swatches }: Extract<Coloring, { kind: "class" }>): HTMLElement {
  const present = Array.from(column.counts.keys()).filter((code) => column.counts[code] > 0);
  const { hiddenClasses } = app.store.state;
  const list = h("ul", { class: "classes" });
  for (const code of present.slice(0, MAX_CLASSES)) {
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = css(swatches[code]);
    const press = (event: MouseEvent) => app.store.set({ hiddenClasses: toggleClass(hiddenClasses, code, present, event.altKey || event.shiftKey) });
    const key = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || event.ctrlKey || event.metaKey || event.altKey) return;
      selectClass(app, column.codes, code, event.shiftKey);
      event.stopPropagation();
      event.preventDefault();
    };
    const name = h("span", { class: "name" }, dataText(classLabel(column.names[code]), 60));
    const size = h("span", { class: "count" }, formatCount(column.counts[code]));
    const pressed = String(!hiddenClasses.has(code));
    const title = "Click: hide or show; shift-click: only this one; S: select its points";
    const button = { type: "button", "aria-pressed": pressed, "aria-keyshortcuts": "S", onclick: press, onkeydown: key, title };
    list.append(h("li", {}, h("button", button, swatch, name, size)));
  }
  const more = present.length - MAX_CLASSES;
  return h("div", {}, list, more > 0 && h("p", { class: "note" }, `and ${formatCount(more)} more`));
}

function selectClass(app: App, codes: Uint32Array, code: number, add: boolean): void {
  const flags = selectedBefore(app.store.state, codes.length, add ? "add" : "replace");
  codes.forEach((other, point) => other === code && (flags[point] = 1));
  app.store.set({ selection: createSelection(flags) });
}

function toggleClass(hiddenClasses: ReadonlySet<number>, code: number, present: number[], alone: boolean): Set<number> {
  if (alone) {
    const others = present.filter((other) => other !== code);
    const already = others.every((other) => hiddenClasses.has(other)) && !hiddenClasses.has(code);
    return new Set(already ? [] : others);
  }
  const next = new Set(hiddenClasses);
  if (!next.delete(code)) next.add(code);
  return next;
}
