/** What the colours mean. */

import type { App } from "./app";
import { type Coloring, css, ramp } from "./colors";
import { className, count, data as text, h, number } from "./dom";

/** More classes than this are not listed. */
const MOST = 200;

export function legend(app: App, coloring: Coloring): HTMLElement {
  if (coloring.kind === "number") return scale(app, coloring);
  if (coloring.kind === "class") return classes(app, coloring);
  return h("div", {});
}

function scale(app: App, { low, middle, high }: Extract<Coloring, { kind: "number" }>): HTMLElement {
  const { theme } = app.store.state;
  const bar = h("div", { class: "ramp", role: "img", "aria-label": `Colours from ${number(low)} to ${number(high)}` });
  const stops = Array.from({ length: 11 }, (_, i) => css(ramp(i / 10, theme)));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ticks = [low, middle, high].map((value) => h("span", {}, number(value)));
  return h("div", { class: "scale" }, bar, h("div", { class: "ticks" }, ...ticks));
}

/** A button for each class: a click hides or shows it, a click with alt or shift leaves it alone. */
function classes(app: App, { column, swatches }: Extract<Coloring, { kind: "class" }>): HTMLElement {
  const present = Array.from(column.counts.keys()).filter((code) => column.counts[code] > 0);
  const { off } = app.store.state;
  const list = h("ul", { class: "classes" });
  for (const code of present.slice(0, MOST)) {
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = css(swatches[code]);
    const press = (event: MouseEvent) => app.store.set({ off: toggled(off, code, present, event.altKey || event.shiftKey) });
    const name = h("span", { class: "name" }, text(className(column.names[code]), 60));
    const size = h("span", { class: "count" }, count(column.counts[code]));
    const button = { type: "button", "aria-pressed": String(!off.has(code)), onclick: press, title: "Click: hide or show; shift-click: only this one" };
    list.append(h("li", {}, h("button", button, swatch, name, size)));
  }
  const more = present.length - MOST;
  return h("div", {}, list, more > 0 && h("p", { class: "note" }, `and ${count(more)} more`));
}

function toggled(off: ReadonlySet<number>, code: number, present: number[], alone: boolean): Set<number> {
  if (alone) {
    const others = present.filter((other) => other !== code);
    const already = others.every((other) => off.has(other)) && !off.has(code);
    return new Set(already ? [] : others);
  }
  const next = new Set(off);
  if (!next.delete(code)) next.add(code);
  return next;
}
