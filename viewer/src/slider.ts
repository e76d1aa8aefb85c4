/** The slider that moves the points from one map to the next. */

import type { App } from "./app";
import type { SliderHeader } from "./header";
import { dataText, h } from "./dom";

/** Positions of the slider between two maps. */
const STEPS = 20;
/** Time in which the animation passes from one map to the next, in milliseconds. */
const MAP_TIME = 1500;

export class Slider {
  readonly element: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly value = h("output", { htmlFor: "slider", id: "slider-value" });
  private readonly play = h("button", { type: "button", onclick: () => this.togglePlay() });
  private frame = 0;

  constructor(
    private readonly app: App,
    private readonly header: SliderHeader,
  ) {
    const last = header.values.length - 1;
    this.range = h("input", { type: "range", id: "slider", min: "0", max: String(last), step: String(1 / STEPS), value: "0" });
    this.range.addEventListener("input", () => {
      const position = Number(this.range.value);
      this.stop();
      this.move(position);
    });
    const labels = header.names?.map((name) => dataText(name, 14)) ?? header.values.map((value) => h("span", {}, formatValue(value)));
    const ticks = h("div", { class: "ticks" }, ...labels);
    this.element = h("div", { class: "slider" }, h("label", { htmlFor: "slider" }, `${header.label} `, this.value), this.range, ticks, this.play);
    this.refresh();
  }

  /** Shows the current position, and emphasizes the scores of the nearest map in a table. */
  refresh(scores: HTMLElement | null = null): void {
    const { view } = this.app.store.state;
    const position = view === "all" ? null : view;
    this.value.value = position === null ? "side by side" : this.describe(position);
    if (position !== null) this.range.value = String(position);
    this.range.setAttribute("aria-valuetext", `${this.header.label} ${this.value.value}`);
    this.play.textContent = this.frame ? "Pause" : "Play";
    const current = position === null ? -1 : Math.round(position);
    for (const row of scores?.querySelectorAll("tr") ?? []) {
      Array.from(row.children).forEach((cell, at) => cell.classList.toggle("current", at === current + 1));
    }
  }

  /** Describes a position by the value there, or by the maps around it. */
  private describe(position: number): string {
    const { names, values } = this.header;
    if (!names) return formatValue(valueAt(values, position));
    const at = Math.floor(position);
    return position === at ? names[at] : `${names[at]} → ${names[at + 1]}, ${Math.round(100 * (position - at))} %`;
  }

  private move(position: number): void {
    // Multiples of a step, so that the maps themselves are reached exactly.
    this.app.store.set({ view: Math.round(position * STEPS) / STEPS });
  }

  private stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.refresh();
  }

  private togglePlay(): void {
    if (this.frame) return this.stop();
    const last = this.header.values.length - 1;
    const { view } = this.app.store.state;
    const from = view === "all" || view >= last ? 0 : view;
    const start = performance.now();
    const step = (now: number) => {
      const position = Math.min(last, from + (now - start) / MAP_TIME);
      if (position >= last) this.frame = 0;
      else this.frame = requestAnimationFrame(step);
      this.move(position);
      this.refresh();
    };
    this.frame = requestAnimationFrame(step);
    this.refresh();
  }
}

/** Returns the value at a position: between two maps their geometric mean, weighted by the distance from each. */
export function valueAt(values: number[], position: number): number {
  const low = Math.min(Math.floor(position), values.length - 1);
  const high = Math.min(low + 1, values.length - 1);
  return values[low] * (values[high] / values[low]) ** (position - low);
}

function formatValue(value: number): string {
  return String(Number(value.toPrecision(2)));
}
