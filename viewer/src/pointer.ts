/** Mouse, pen and touch input over a map. */

import type { App } from "./app";
import type { Pane } from "./pane";

type Pixel = [number, number];

/** Up to this many points, the selection follows the lasso. */
const MAX_BRUSHED = 200_000;

export class Pointer {
  private readonly down = new Map<number, Pixel>();
  private start: Pixel | null = null;
  private dragged = false;
  private hovered = 0;
  private brushed = 0;

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
    on("dblclick", (event) => this.zoom(2, this.pixel(event)));
  }

  private pixel(event: MouseEvent): Pixel {
    const { left, top } = this.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  private press(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    const pixel = this.pixel(event);
    this.down.set(event.pointerId, pixel);
    this.start = pixel;
    this.dragged = this.down.size > 1;
    const lasso = this.down.size === 1 && (this.app.store.state.lasso || event.shiftKey);
    this.pane.lasso = lasso ? [pixel] : null;
  }

  private move(event: PointerEvent): void {
    const pixel = this.pixel(event);
    const before = this.down.get(event.pointerId);
    if (!before) return this.hover(pixel);
    this.down.set(event.pointerId, pixel);
    if (this.start && Math.hypot(pixel[0] - this.start[0], pixel[1] - this.start[1]) > 4) this.dragged = true;
    if (!this.dragged) return;
    const { pane } = this;
    if (pane.lasso) {
      pane.lasso.push(pixel);
      pane.invalidate();
      this.brush(event);
      return;
    }
    const [dx, dy] = [pixel[0] - before[0], pixel[1] - before[1]];
    if (this.down.size === 2) this.pinch(event.pointerId, before, pixel);
    else if (pane.camera.is3d && !event.ctrlKey && !event.metaKey) pane.camera.rotate(dx * 0.008, dy * 0.008);
    else pane.camera.pan(dx, dy);
    this.app.sync(pane);
  }

  /** Selects while the lasso is drawn, so that the points inside stand out in all maps. */
  private brush(event: PointerEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || this.pane.order.length > MAX_BRUSHED) return;
    cancelAnimationFrame(this.brushed);
    this.brushed = requestAnimationFrame(() => {
      const line = this.pane.lasso;
      if (line && line.length > 2) this.pane.selectInside(line, "replace");
    });
  }

  private pinch(moved: number, before: Pixel, after: Pixel): void {
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
      pane.selectInside(line, event.altKey ? "remove" : event.ctrlKey || event.metaKey ? "add" : "replace");
      app.store.set({ lasso: false });
    } else if (!this.dragged) {
      const point = pane.pick(...this.pixel(event));
      app.store.set({ pinned: point === app.store.state.pinned ? -1 : point, hover: event.pointerType === "mouse" ? point : -1 });
    }
    pane.invalidate();
  }

  private hover(pixel: Pixel): void {
    cancelAnimationFrame(this.hovered);
    this.hovered = requestAnimationFrame(() => this.app.hover(this.pane, this.pane.pick(...pixel)));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    // Touchpads report a pinch as wheel events with the control key, in smaller steps.
    this.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0016)), this.pixel(event));
  }

  private zoom(factor: number, [x, y]: Pixel): void {
    this.pane.camera.zoomAt(factor, x, y);
    this.app.sync(this.pane);
  }
}
