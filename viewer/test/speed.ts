/**
 * Measures a page of a million points: `npm run speed`, or POINTS=100000 npm run speed. LOWLAND and CHROMIUM are the paths of the program and of the browser. Headless
 * Chromium without a graphics card draws with the processor: on a canvas, and with WebGL2 emulated by SwiftShader. Times depend on other work of the machine; CPU seconds of
 * the page's process are printed beside them.
 */

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { type CDPSession, chromium } from "playwright-core";
import { program } from "./pages";

const points = process.env.POINTS ?? "1000000";
/** Appended to the address of the page. */
const WAYS = { canvas: "?canvas", "WebGL2 in software": "?webgl" };
const ARGS = ["--no-sandbox", "--enable-precise-memory-info", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];

/** The processes of pages and their CPU seconds so far. */
async function renderers(session: CDPSession): Promise<{ id: number; cpuTime: number }[]> {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo.filter((each) => each.type === "renderer");
}

/** MiB of memory of a process, from Linux: now and at most. */
function memory(id: number): number[] {
  const status = readFileSync(`/proc/${id}/status`, "utf8");
  return ["VmRSS", "VmHWM"].map((name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

test("a million points", { timeout: 900_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "lowland-speed-"));
  const file = join(folder, "page.html");
  execFileSync(program, ["embed", "mixture", "--n-points", points, "--method", "pca", "--no-quality", "--quiet", "--out", join(folder, "map.csv")]);
  execFileSync(program, ["plot", join(folder, "map.csv"), "--quiet", "--out", file]);
  console.log(`${points} points, ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  console.log("way | first picture, s | of it CPU of the page, s | frames in 4 s | median frame, ms | 95th percentile, ms | CPU per frame, ms | script heap, MiB | process, MiB | at most, MiB");
  for (const [way, query] of Object.entries(WAYS)) {
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGS });
    const session = await browser.newBrowserCDPSession();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const before = new Set((await renderers(session)).map((each) => each.id));
    const start = performance.now();
    await page.goto(pathToFileURL(file).href + query);
    await page.waitForSelector("#app[data-ready]", { timeout: 300_000 });
    // The frame that shows the points has been presented when the one after it begins.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const first = (performance.now() - start) / 1000;
    const all = await renderers(session);
    const own = all.find((each) => !before.has(each.id)) ?? all.sort((a, b) => b.cpuTime - a.cpuTime)[0];
    const heap = await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 2 ** 20);
    await page.evaluate(() => {
      const times: number[] = [];
      Object.assign(window, { frameTimes: times });
      const step = (time: number) => {
        times.push(time);
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    });
    const cpu = async () => (await renderers(session)).find((each) => each.id === own.id)!.cpuTime;
    const cpuBefore = await cpu();
    const end = performance.now() + 4000;
    await page.mouse.move(500, 450);
    await page.mouse.down();
    for (let at = 0; performance.now() < end; at++) await page.mouse.move(500 + 120 * Math.cos(at / 9), 450 + 120 * Math.sin(at / 9));
    await page.mouse.up();
    const cpuSeconds = (await cpu()) - cpuBefore;
    const times = await page.evaluate(() => (window as unknown as { frameTimes: number[] }).frameTimes);
    const frames = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
    const [now, most] = memory(own.id);
    const numbers = [first, own.cpuTime].map((value) => value.toFixed(2));
    const details = [median(frames), frames[Math.floor(0.95 * frames.length)], (1000 * cpuSeconds) / frames.length, heap, now, most].map((value) => value.toFixed(0));
    console.log([way, ...numbers, frames.length, ...details].join(" | "));
    await browser.close();
  }
  rmSync(folder, { recursive: true, force: true });
});
