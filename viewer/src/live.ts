/** A map that is still being fitted: frames from the server, the curve of the objective, and the stop button. */

import type { App } from "./app";
import { placed } from "./dataset";
import { count, h, number } from "./dom";
import { fromBase64 } from "./sections";

interface Frame {
  name: string;
  iteration: number;
  done: number;
  dim: number;
  dimOf: number;
  low: number[];
  high: number[];
  /** Empty while the map is of landmarks only. */
  points: string;
  trace: [number, number][];
}

/** Moves from one frame to the next take about as long as frames take to come. */
const BETWEEN = 200;
const PATIENCE = 3;

export function follow(app: App): void {
  const status = h("p", { class: "note", role: "status", id: "live-status" }, "Waiting for the first map …");
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Share of the work that is done" });
  const curve = h("canvas", { class: "curve", role: "img", "aria-label": "The objective by iteration" });
  const stop = h("button", { type: "button", class: "stop", disabled: true }, "Stop and keep the map");
  const box = h("fieldset", { class: "live" }, h("legend", {}, "Live"), status, bar, curve, stop);
  app.panel.element.querySelector("header")!.after(box);
  const source = new EventSource("events");
  let ended = false;
  const say = (text: string) => (status.textContent = text);
  const end = (text: string) => {
    ended = true;
    source.close();
    stop.disabled = true;
    box.classList.add("over");
    say(text);
  };
  stop.addEventListener("click", () => {
    stop.disabled = true;
    say("Stopping …");
    fetch("stop", { method: "POST" }).catch(() => end("The program is gone."));
  });
  source.addEventListener("stage", (event) => {
    if (app.data.maps.length === 0) say(`${JSON.parse(event.data as string) as string} …`);
  });
  source.addEventListener("map", (event) => {
    const frame = JSON.parse(event.data as string) as Frame;
    if (frame.points) show(app, frame);
    bar.value = frame.done;
    stop.disabled = ended;
    const [, objective] = frame.trace.at(-1) ?? [0, NaN];
    say(`Iteration ${count(frame.iteration)}, objective ${number(objective)}`);
    draw(curve, frame.trace);
  });
  source.addEventListener("end", (event) => {
    bar.value = 1;
    end(JSON.parse(event.data as string) as string);
  });
  // Browsers knock again by themselves; where nobody answers several times, nobody is there.
  let silences = 0;
  source.addEventListener("open", () => (silences = 0));
  source.addEventListener("error", () => {
    silences++;
    if (ended || (source.readyState !== EventSource.CLOSED && silences < PATIENCE)) return;
    end("The program is gone; the map is as it was last seen.");
  });
}

function show(app: App, frame: Frame): void {
  const stored = new Uint16Array(fromBase64(frame.points).buffer);
  const { positions, frame: own } = placed(stored, frame, app.data.rows);
  const { name, dim, dimOf } = frame;
  const map = { name, caption: "", dim, dimOf, positions, frame: own, std: null, covariances: null, kept: null };
  const first = app.data.maps.length === 0;
  app.data.maps[0] = map;
  if (first) {
    app.arrange("all");
    app.panel.start();
  } else {
    app.panes[0].show(map, BETWEEN);
  }
}

/** The objective by iteration, from its least to its largest value. */
function draw(canvas: HTMLCanvasElement, trace: [number, number][]): void {
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
  context.fillText(`${number(high)} to ${number(low)}`, width - 3, 11);
}
