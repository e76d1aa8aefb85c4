/** The card of a point: everything the page knows of it. */

import type { App } from "./app";
import { bits, coordinates, nameOf } from "./dataset";
import { className, data as text, h, number } from "./dom";
import type { Pane } from "./pane";
import type { Key } from "./store";

const AXES = ["x", "y", "z"];

export class Card {
  readonly element = h("aside", { class: "card", hidden: true, "aria-live": "polite", "aria-label": "The point" });
  /** The pane whose point the card stands beside. */
  pane: Pane | null = null;

  constructor(private readonly app: App) {}

  refresh(changed: ReadonlySet<Key>): void {
    if (!["hover", "pinned", "view"].some((key) => changed.has(key as Key))) return;
    const point = this.app.store.focus;
    this.element.hidden = point < 0;
    if (point < 0) return;
    this.fill(point);
    this.place();
  }

  /** Beside its point, inside the window. */
  place(): void {
    const point = this.app.store.focus;
    const pane = this.app.panes.includes(this.pane!) ? this.pane! : this.app.panes[0];
    if (point < 0 || !pane) return;
    const { x, y } = pane.screen(point);
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const { right } = pane.element.parentElement!.getBoundingClientRect();
    const left = x + 18 + width < right ? x + 18 : x - 18 - width;
    const top = Math.min(Math.max(8, y - height / 2), innerHeight - height - 8);
    this.element.style.transform = `translate(${Math.round(Math.max(8, left))}px, ${Math.round(Math.max(8, top))}px)`;
  }

  private fill(point: number): void {
    const { data } = this.app;
    const rows: [string, Node | string][] = [];
    if (data.ids) rows.push(["row", String(point)]);
    for (const column of data.columns) {
      if (rows.length > 12) break;
      const value = column.kind === "class" ? text(className(column.names[column.codes[point]])) : number(column.values[point]);
      rows.push([column.name, value]);
    }
    const several = this.app.panes.length > 1;
    this.element.classList.toggle("wide", several);
    for (const { map } of this.app.panes) {
      const of = several ? `${map.name} ` : "";
      const place = coordinates(map, point).map((value, c) => `${AXES[c]} ${number(value)}`);
      rows.push([`${of}at`, place.join(", ")]);
      if (map.std) rows.push([`${of}std`, number(map.std[point])]);
      const k = data.neighbors?.k;
      if (map.kept && k) {
        const kept = bits(map.kept[point]);
        rows.push([`${of}neighbours kept`, `${kept} of ${k} (recall ${(kept / k).toFixed(2)})`]);
      }
    }
    const list = h("dl", {});
    for (const [name, value] of rows) list.append(h("dt", {}, text(name, 40)), h("dd", {}, value));
    const content: Node[] = [h("h2", {}, text(nameOf(data, point), 500)), list];
    if (data.images) {
      const canvas = h("canvas", { class: "thumbnail", role: "img", "aria-label": "The point's image" });
      void data.images.draw(point, canvas);
      content.unshift(canvas);
    }
    this.element.replaceChildren(...content);
  }
}
