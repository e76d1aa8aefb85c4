/** A map during the fit: updates from the server, the curve of the objective, and the stop button. */

import type { App } from "./app";
import { decodePositions } from "./dataset";
import { formatCount, h, formatNumber } from "./dom";
import { fromBase64 } from "./sections";

/** An update from the server. */
interface LiveUpdate {
  name: string;
  iteration: number;
  done: number;
  dim: number;
  dimOf: number;
  low: number[];
  high: number[];
  /** Empty while the map contains only landmarks. */
  points: string;
  trace: [number, number][];
}

/** Duration of the animation from one update to the next, about the time between updates, in milliseconds. */
const ANIMATION_TIME = 200;
/** Number of failed connections after which the server is considered gone. */
const MAX_FAILURES = 3;

/** Shows the updates of a live page. */
export function followFit(app: App): void {
  const status = h("p", { class: "note", role: "status", id: "live-status" }, "Waiting for the first map …");
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  const curve = h("canvas", { class: "curve", role: "img", "aria-label": "Objective by iteration" });
  const stop = h("button", { type: "button", class: "stop", disabled: true }, "Stop and keep the map");
  const box = h("fieldset", { class: "live" }, h("legend", {}, "Live"), status, bar, curve, stop);
  app.panel.element.querySelector("header")!.after(box);
  const source = new EventSource("events");
  let ended = false;
  const setStatus = (text: string) => (status.textContent = text);
  const finish = (text: string) => {
    ended = true;
    source.close();
    stop.disabled = true;
    box.classList.add("finished");
    setStatus(text);
  };
  stop.addEventListener("click", () => {
    stop.disabled = true;
    setStatus("Stopping …");
    fetch("stop", { method: "POST" }).catch(() => finish("The program has ended."));
  });
  source.addEventListener("stage", (event) => {
    if (app.data.maps.length === 0) setStatus(`${JSON.parse(event.data as string) as string} …`);
  });
  source.addEventListener("map", (event) => {
    const frame = JSON.parse(event.data as string) as LiveUpdate;
    if (frame.points) showUpdate(app, frame);
    bar.value = frame.done;
    stop.disabled = ended;
    const [, objective] = frame.trace.at(-1) ?? [0, NaN];
    setStatus(`Iteration ${formatCount(frame.iteration)}, objective ${formatNumber(objective)}`);
    drawCurve(curve, frame.trace);
  });
  source.addEventListener("end", (event) => {
    bar.value = 1;
    finish(JSON.parse(event.data as string) as string);
  });
  // Browsers reconnect by themselves; after several failures the server is gone.
  let failures = 0;
  source.addEventListener("open", () => (failures = 0));
  source.addEventListener("error", () => {
    failures++;
    if (ended || (source.readyState !== EventSource.CLOSED && failures < MAX_FAILURES)) return;
    finish("The program has ended; this is the last map received.");
  });
}

function showUpdate(app: App, frame: LiveUpdate): void {
  const stored = new Uint16Array(fromBase64(frame.points).buffer);
  const { positions, frame: own } = decodePositions(stored, frame, app.data.rows);
  const { name, dim, dimOf } = frame;
  const map = { name, caption: "", dim, dimOf, positions, frame: own, std: null, covariances: null, kept: null, reliability: [], bridges: [] };
  const first = app.data.maps.length === 0;
  app.data.maps[0] = map;
  if (first) {
    app.arrange("all");
    app.panel.start();
  } else {
    app.panes[0].show(map, ANIMATION_TIME);
  }
}

/** Draws the objective by iteration, scaled to its range. */
function drawCurve(canvas: HTMLCanvasElement, trace: [number, number][]): void {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const values = trace.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = trace.at(-1)?.[0] ?? 1;
  const style = getComputedStyle(canvas);
  context.strokeStyle = style.getPropertyValue("--accent");
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  for (const [iteration, value] of trace) {
    const x = 3 + ((width - 6) * iteration) / last;
    const y = height - 4 - (height - 22) * (high > low ? (value - low) / (high - low) : 0.5);
    context.lineTo(x, y);
  }
  context.stroke();
  context.fillStyle = style.color;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText(`${formatNumber(high)} to ${formatNumber(low)}`, width - 3, 11);
}
