/** Reads the page's data and shows them. */

import { App } from "./app";
import { load } from "./dataset";
import { h } from "./dom";
import { follow } from "./live";
import type { Kind } from "./renderer";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  try {
    const data = await load();
    document.title = `${data.title || "map"} · lowland`;
    const asked = /[?&#](canvas|webgl)\b/.exec(location.search + location.hash)?.[1];
    const app = new App(data, root, (asked ?? "auto") as Kind);
    if (data.live) follow(app);
    else app.panel.start();
    root.dataset.ready = "";
    // For the curious, and for tests: the whole state from the browser's console.
    Object.assign(window, { lowland: app });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    root.replaceChildren(h("p", { class: "loading", role: "alert" }, `This page cannot show its map: ${reason}`));
  }
}

void start();
