/** Mouse, pen and fingers over a map. */

import type { App } from "./app";
import type { Pane } from "./pane";

type Place = [number, number];

export class Pointer {
  private readonly down = new Map<number, Place>();
  private start: Place | null = null;
  private dragged = false;
  private hovered = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly pane: Pane,
    private readonly app: App,
  ) {
    const on = <K extends keyof HTMLElementEventMap>(type: K, listener: (event: HTMLElementEventMap[K]) => void) =>
      canvas.addEventListener(type, listener, { passive: false });
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", (event) => this.release(event));
    on("pointerleave", () => this.app.store.set({ hover: -1 }));
    on("wheel", (event) => this.wheel(event));
    on("dblclick", (event) => this.zoom(2, this.place(event)));
  }

  private place(event: MouseEvent): Place {
    const { left, top } = this.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  private press(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    const place = this.place(event);
    this.down.set(event.pointerId, place);
    this.start = place;
    this.dragged = this.down.size > 1;
    const lasso = this.down.size === 1 && (this.app.store.state.lasso || event.shiftKey);
    this.pane.lasso = lasso ? [place] : null;
  }

  private move(event: PointerEvent): void {
    const place = this.place(event);
    const before = this.down.get(event.pointerId);
    if (!before) return this.hover(place);
    this.down.set(event.pointerId, place);
    if (this.start && Math.hypot(place[0] - this.start[0], place[1] - this.start[1]) > 4) this.dragged = true;
    if (!this.dragged) return;
    const { pane } = this;
    if (pane.lasso) {
      pane.lasso.push(place);
      pane.invalidate();
      return;
    }
    const [dx, dy] = [place[0] - before[0], place[1] - before[1]];
    if (this.down.size === 2) this.pinch(event.pointerId, before, place);
    else if (pane.camera.deep && !event.ctrlKey && !event.metaKey) pane.camera.rotate(dx * 0.008, dy * 0.008);
    else pane.camera.pan(dx, dy);
    this.app.sync(pane);
  }

  private pinch(moved: number, before: Place, after: Place): void {
    const still = [...this.down].find(([id]) => id !== moved)![1];
    const [old, now] = [before, after].map(([x, y]) => Math.hypot(x - still[0], y - still[1]));
    this.pane.camera.pan((after[0] - before[0]) / 2, (after[1] - before[1]) / 2);
    if (old > 0) this.pane.camera.zoomAt(now / old, (after[0] + still[0]) / 2, (after[1] + still[1]) / 2);
  }

  private release(event: PointerEvent): void {
    if (!this.down.delete(event.pointerId)) return;
    const { pane, app } = this;
    const line = pane.lasso;
    pane.lasso = null;
    if (event.type === "pointercancel") return pane.invalidate();
    if (line && line.length > 2) {
      pane.choose(line, event.altKey ? "remove" : event.ctrlKey || event.metaKey ? "add" : "replace");
      app.store.set({ lasso: false });
    } else if (!this.dragged) {
      const point = pane.pick(...this.place(event));
      app.store.set({ pinned: point === app.store.state.pinned ? -1 : point, hover: event.pointerType === "mouse" ? point : -1 });
    }
    pane.invalidate();
  }

  private hover(place: Place): void {
    cancelAnimationFrame(this.hovered);
    this.hovered = requestAnimationFrame(() => this.app.hover(this.pane, this.pane.pick(...place)));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    // A pinch on a touchpad arrives as a wheel with control, in smaller steps.
    this.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0016)), this.place(event));
  }

  private zoom(factor: number, [x, y]: Place): void {
    this.pane.camera.zoomAt(factor, x, y);
    this.app.sync(this.pane);
  }
}
