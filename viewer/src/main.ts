/** Loads the data of the page and starts the application. */

import { App } from "./app";
import { load } from "./dataset";
import { h } from "./dom";
import { followFit } from "./live";
import type { RendererKind } from "./renderer";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  try {
    const data = await load();
    document.title = `${data.title || "map"} · lowland`;
    const requested = /[?&#](canvas|webgl)\b/.exec(location.search + location.hash)?.[1];
    const app = new App(data, root, (requested ?? "auto") as RendererKind);
    if (data.live) followFit(app);
    else app.panel.start();
    root.dataset.ready = "";
    // Makes the state available in the browser's console and to tests.
    Object.assign(window, { lowland: app });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    root.replaceChildren(h("p", { class: "loading", role: "alert" }, `This page cannot show its map: ${reason}`));
  }
}

void start();
