/** A browser, pages made by the program itself, and ways to look at them. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import type { App } from "../src/app";

declare global {
  interface Window {
    lowland: App;
    hacked: unknown;
  }
}

export const program = resolve(process.env.LOWLAND ?? "../target/debug/lowland");
const chrome = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const folder = mkdtempSync(join(tmpdir(), "lowland-viewer-"));

export function lowland(...words: string[]): void {
  execFileSync(program, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

let browser: Browser | null = null;

export async function start(): Promise<void> {
  assert.ok(existsSync(program), `${program} is not there: run cargo build first`);
  // Software WebGL, so that the tests see the same pixels everywhere.
  const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
  browser = await chromium.launch({ executablePath: chrome, args });
}

export async function end(): Promise<void> {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** What each page did that a page must not do. */
const heard = new WeakMap<Page, string[]>();

/** Closes a page, which must have done nothing wrong. */
export async function closed(page: Page): Promise<void> {
  assert.deepEqual(heard.get(page), []);
  await page.close();
}

/** Opens a page, and listens for anything a page must not do: errors, other addresses, dialogs. */
export async function opened(address: string, options: { dark?: boolean } = {}): Promise<Page> {
  const page = await browser!.newPage({
    viewport: { width: 1100, height: 760 },
    colorScheme: options.dark ? "dark" : "light",
    reducedMotion: "no-preference",
    acceptDownloads: true,
  });
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  heard.set(page, complaints);
  const fail = (what: string) => complaints.push(what);
  page.on("pageerror", (error) => fail(`an error in the page: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && fail(`the console says: ${message.text()}`));
  page.on("dialog", (dialog) => {
    fail(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const url = address.startsWith("http") ? address : pathToFileURL(join(folder, address.split("?")[0])).href + (address.match(/\?.*/)?.[0] ?? "");
  page.on("request", (request) => {
    const origin = new URL(url);
    const asked = new URL(request.url());
    if (asked.protocol !== "blob:" && (asked.protocol !== origin.protocol || asked.host !== origin.host)) fail(`a request to ${asked.href}`);
  });
  await page.goto(url);
  await page.waitForSelector("#app[data-ready]");
  return page;
}

/** Where a point is on the screen, in the pane of this number. */
export function place(page: Page, point: number, pane = 0): Promise<{ x: number; y: number }> {
  return page.evaluate(([at, which]) => window.lowland.panes[which].screen(at), [point, pane] as const);
}

/** Moves the pointer over a point and waits for its card. */
export async function hover(page: Page, point: number, pane = 0): Promise<string> {
  const { x, y } = await place(page, point, pane);
  await page.mouse.move(x, y);
  await page.waitForFunction(() => window.lowland.store.state.hover >= 0);
  return page.locator(".card").innerText();
}

/** A point with no other near it on the screen, so that the pointer can mean no other. */
export function lonely(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { panes, data } = window.lowland;
    const places = Array.from({ length: data.rows }, (_, point) => panes[0].screen(point));
    const gap = (point: number) =>
      Math.min(...places.map((p, other) => (other === point ? Infinity : Math.hypot(p.x - places[point].x, p.y - places[point].y))));
    return places.findIndex((_, point) => gap(point) > 8);
  });
}

/** The share of each of 8 x 8 parts of a pane that is not ground. */
export function ink(page: Page, pane = 0): Promise<number[]> {
  return page.evaluate((which) => {
    const shown = window.lowland.panes[which];
    // The picture is there only until the browser has shown it: draw and read in one breath.
    shown.resize();
    const { canvas } = shown.renderer;
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d")!;
    context.drawImage(canvas, 0, 0);
    const { data, width, height } = context.getImageData(0, 0, copy.width, copy.height);
    const parts = new Array<number>(64).fill(0);
    for (let at = 0; at < width * height; at++) {
      const differs = [0, 1, 2].some((c) => Math.abs(data[4 * at + c] - data[c]) > 24);
      const part = 8 * Math.floor((8 * Math.floor(at / width)) / height) + Math.floor((8 * (at % width)) / width);
      if (differs) parts[part] += 64 / (width * height);
    }
    return parts;
  }, pane);
}

/** Drags along a line of places. */
export async function drag(page: Page, line: [number, number][], key?: "Shift"): Promise<void> {
  if (key) await page.keyboard.down(key);
  await page.mouse.move(...line[0]);
  await page.mouse.down();
  for (const at of line.slice(1)) await page.mouse.move(...at, { steps: 4 });
  await page.mouse.up();
  if (key) await page.keyboard.up(key);
}

export function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}
