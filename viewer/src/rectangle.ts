/** A rectangle on the first map that is moved by keys, to select points without a pointer. */

import type { App } from "./app";
import type { Pane } from "./pane";

/** Left, top, right and bottom in CSS pixels of the map. */
export type Rectangle = readonly [number, number, number, number];

/** Distance that a key moves the rectangle or one of its sides; and its smallest side, in CSS pixels. */
const STEP = 20;
const MIN_SIDE = 20;

const DIRECTIONS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Keys of the rectangle, for its description. */
export const RECTANGLE_KEYS = "arrow keys move it, shift and arrow keys resize it, Enter selects, Escape cancels";

/** Returns the corners in turn. */
export function corners([left, top, right, bottom]: Rectangle): [number, number][] {
  return [[left, top], [right, top], [right, bottom], [left, bottom]];
}

/** Returns the rectangle after an arrow key: moved, or with its right or lower side moved. It stays on the map. */
export function moved([left, top, right, bottom]: Rectangle, key: string, resize: boolean, width: number, height: number): Rectangle {
  const [x, y] = DIRECTIONS[key] ?? [0, 0];
  const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(value, Math.max(low, high)));
  if (resize) {
    return [left, top, clamp(right + x * STEP, left + MIN_SIDE, width), clamp(bottom + y * STEP, top + MIN_SIDE, height)];
  }
  const dx = clamp(left + x * STEP, 0, width - (right - left)) - left;
  const dy = clamp(top + y * STEP, 0, height - (bottom - top)) - top;
  return [left + dx, top + dy, right + dx, bottom + dy];
}

/** Shows the rectangle where it was last, or in the middle of the map; hides it if it is shown. */
export function toggleRectangle(app: App): void {
  const pane = app.panes[0];
  if (!pane) return;
  if (app.store.state.rectangle) {
    app.store.set({ rectangle: null });
    return;
  }
  const { width, height } = pane.camera;
  const last = app.lastRectangle;
  const fits = last && last[2] <= width && last[3] <= height;
  // Keys go to the map from here on, also those of screen readers, which pass them to an application.
  pane.focus();
  app.store.set({ lasso: false, rectangle: fits ? last : [0.375 * width, 0.375 * height, 0.625 * width, 0.625 * height] });
}

/** Handles a key while the rectangle is shown; returns whether it was one of its keys. */
export function handleRectangleKey(app: App, pane: Pane, event: KeyboardEvent): boolean {
  const { rectangle } = app.store.state;
  if (!rectangle) return false;
  if (event.key in DIRECTIONS) {
    const { width, height } = pane.camera;
    app.store.set({ rectangle: moved(rectangle, event.key, event.shiftKey, width, height) });
    return true;
  }
  if (event.key === "Enter") {
    app.lastRectangle = rectangle;
    app.store.set({ rectangle: null });
    pane.selectInside(corners(rectangle), event.altKey ? "remove" : event.ctrlKey || event.metaKey ? "add" : "replace");
    return true;
  }
  if (event.key === "Escape") {
    app.store.set({ rectangle: null });
    return true;
  }
  return false;
}
