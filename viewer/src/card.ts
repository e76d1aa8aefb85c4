/** The card with the data of a point. */

import type { App } from "./app";
import { countBits, coordinates, pointName } from "./dataset";
import { classLabel, dataText, h, formatNumber } from "./dom";
import type { Pane } from "./pane";
import type { StateKey } from "./store";

const AXES = ["x", "y", "z"];

export class Card {
  readonly element = h("aside", { class: "card", hidden: true, "aria-live": "polite", "aria-label": "Point" });
  /** The pane in which the card is next to its point. */
  pane: Pane | null = null;

  constructor(private readonly app: App) {}

  refresh(changed: ReadonlySet<StateKey>): void {
    if (!["hover", "pinned", "view"].some((key) => changed.has(key as StateKey))) return;
    const point = this.app.store.focus;
    this.element.hidden = point < 0;
    if (point < 0) return;
    this.fill(point);
    this.place();
  }

  /** Moves the card next to its point, within the window. */
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
      const value = column.kind === "class" ? dataText(classLabel(column.names[column.codes[point]])) : formatNumber(column.values[point]);
      rows.push([column.name, value]);
    }
    const several = this.app.panes.length > 1;
    this.element.classList.toggle("wide", several);
    for (const { map } of this.app.panes) {
      const prefix = several ? `${map.name} ` : "";
      const values = coordinates(map, point).map((value, c) => `${AXES[c]} ${formatNumber(value)}`);
      rows.push([`${prefix}at`, values.join(", ")]);
      if (map.std) rows.push([`${prefix}std`, formatNumber(map.std[point])]);
      for (const { name, values } of map.reliability) rows.push([`${prefix}${name}`, formatNumber(values[point])]);
      const k = data.neighbors?.k;
      if (map.kept && k) {
        const kept = countBits(map.kept[point]);
        rows.push([`${prefix}neighbors kept`, `${kept} of ${k} (recall ${(kept / k).toFixed(2)})`]);
      }
    }
    const list = h("dl", {});
    for (const [name, value] of rows) list.append(h("dt", {}, dataText(name, 40)), h("dd", {}, value));
    const content: Node[] = [h("h2", {}, dataText(pointName(data, point), 500)), list];
    if (data.images) {
      const canvas = h("canvas", { class: "thumbnail", role: "img", "aria-label": "Image of the point" });
      void data.images.draw(point, canvas);
      content.unshift(canvas);
    }
    this.element.replaceChildren(...content);
  }
}
