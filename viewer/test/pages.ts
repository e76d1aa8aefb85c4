/** A browser, pages created by the program, and helpers to inspect them. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
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
export const directory = mkdtempSync(join(tmpdir(), "lowland-viewer-"));

/** Runs the program. */
export function lowland(...args: string[]): void {
  execFileSync(program, args, { cwd: directory, stdio: ["ignore", "ignore", "inherit"] });
}

let browser: Browser | null = null;

export async function startBrowser(): Promise<void> {
  assert.ok(existsSync(program), `${program} does not exist: run cargo build first`);
  // Software WebGL, so that the tests see the same pixels everywhere.
  const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
  browser = await chromium.launch({ executablePath: chrome, args });
}

export async function stopBrowser(): Promise<void> {
  await browser?.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Errors and forbidden actions of each page. */
const problemsOf = new WeakMap<Page, string[]>();

/** Closes a page and checks that it had no problems. */
export async function closePage(page: Page): Promise<void> {
  assert.deepEqual(problemsOf.get(page), []);
  await page.close();
}

/** Opens a page and records its problems: errors, requests to other hosts, dialogs. */
export async function openPage(address: string, options: { dark?: boolean } = {}): Promise<Page> {
  const page = await browser!.newPage({
    viewport: { width: 1100, height: 760 },
    colorScheme: options.dark ? "dark" : "light",
    reducedMotion: "no-preference",
    acceptDownloads: true,
  });
  page.setDefaultTimeout(10_000);
  const problems: string[] = [];
  problemsOf.set(page, problems);
  const report = (problem: string) => problems.push(problem);
  page.on("pageerror", (error) => report(`error in the page: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && report(`console error: ${message.text()}`));
  page.on("dialog", (dialog) => {
    report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const url = address.startsWith("http") ? address : pathToFileURL(join(directory, address.split("?")[0])).href + (address.match(/\?.*/)?.[0] ?? "");
  page.on("request", (request) => {
    const origin = new URL(url);
    const asked = new URL(request.url());
    if (asked.protocol !== "blob:" && (asked.protocol !== origin.protocol || asked.host !== origin.host)) report(`request to ${asked.href}`);
  });
  await page.goto(url);
  await page.waitForSelector("#app[data-ready]");
  return page;
}

/** Returns the position of a point on the screen. */
export function pointPosition(page: Page, point: number, pane = 0): Promise<{ x: number; y: number }> {
  return page.evaluate(([at, which]) => window.lowland.panes[which].screen(at), [point, pane] as const);
}

/** Moves the pointer over a point and returns the text of its card. */
export async function hover(page: Page, point: number, pane = 0): Promise<string> {
  const { x, y } = await pointPosition(page, point, pane);
  await page.mouse.move(x, y);
  await page.waitForFunction(() => window.lowland.store.state.hover >= 0);
  return page.locator(".card").innerText();
}

/** Returns a point with no other point near it on the screen. */
export function isolatedPoint(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { panes, data } = window.lowland;
    const places = Array.from({ length: data.rows }, (_, point) => panes[0].screen(point));
    const gap = (point: number) =>
      Math.min(...places.map((p, other) => (other === point ? Infinity : Math.hypot(p.x - places[point].x, p.y - places[point].y))));
    return places.findIndex((_, point) => gap(point) > 8);
  });
}

/** Divides a pane into 8 x 8 parts and returns the fraction of each that is not background. */
export function coverage(page: Page, pane = 0): Promise<number[]> {
  return page.evaluate((which) => {
    const target = window.lowland.panes[which];
    // The canvas is cleared after presentation, so it is drawn and read in the same task.
    target.resize();
    const { canvas } = target.renderer;
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

/** Drags along a path. */
export async function drag(page: Page, path: [number, number][], key?: "Shift"): Promise<void> {
  if (key) await page.keyboard.down(key);
  await page.mouse.move(...path[0]);
  await page.mouse.down();
  for (const at of path.slice(1)) await page.mouse.move(...at, { steps: 4 });
  await page.mouse.up();
  if (key) await page.keyboard.up(key);
}

export function writeTestFile(name: string, text: string): void {
  writeFileSync(join(directory, name), text);
}

/** Starts a fit with a live page and ends it afterwards; `ended` is its exit code. */
export async function withLivePage(args: string[], use: (address: string, ended: Promise<number | null>) => Promise<void>): Promise<void> {
  const child = spawn(program, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((done) => child.on("exit", done));
  try {
    let address = "";
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as { event: string; address?: string };
      if (event.event === "live") {
        address = event.address!;
        break;
      }
    }
    child.stdout.resume();
    await use(address, ended);
  } finally {
    child.kill();
  }
}
