/** Browser tests of the slider between maps, and of reliability. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { closePage, lowland, openPage, pointPosition, writeTestFile } from "./pages";

test("the slider moves the points from one map to the next and marks the scores of the nearest", async () => {
  const iterations = ["--max-iter", "120", "--exaggeration-iter", "50", "--perplexity", "10"];
  lowland("spectrum", "digits", "--max-rows", "150", "--exaggerations", "1,4,16", ...iterations, "--quiet", "--out", "spectrum.html");
  const page = await openPage("spectrum.html");
  const moveTo = async (position: string) => {
    await page.locator("#slider").fill(position);
    return pointPosition(page, point);
  };
  // The point that moves most from the first map to the second.
  const point = await page.evaluate(() => {
    const [a, b] = window.lowland.data.maps.map((map) => map.positions);
    const moved = (i: number) => Math.hypot(a[3 * i] - b[3 * i], a[3 * i + 1] - b[3 * i + 1]);
    return Array.from({ length: 150 }, (_, i) => i).reduce((best, i) => (moved(i) > moved(best) ? i : best));
  });
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  const [first, second] = [await moveTo("0"), await moveTo("1")];
  const between = await moveTo("0.5");
  assert.ok(Math.hypot(first.x - second.x, first.y - second.y) > 3, "the maps differ");
  for (const axis of ["x", "y"] as const) assert.ok(Math.abs(between[axis] - (first[axis] + second[axis]) / 2) < 0.5, axis);
  assert.equal(await page.locator("#slider-value").innerText(), "2");
  assert.match(await page.locator(".pane-title").innerText(), /exaggeration 1 to exaggeration 4/);
  await moveTo("2");
  assert.equal(await page.locator("#slider-value").innerText(), "16");
  assert.equal(await page.locator(".scores th.current").innerText(), "16");
  // Between maps, points can still be found under the pointer.
  await moveTo("1.5");
  const found = await page.evaluate(() => {
    const { panes } = window.lowland;
    const { x, y } = panes[0].screen(3);
    const { left, top } = document.querySelector(".overlay")!.getBoundingClientRect();
    return panes[0].pick(x - left, y - top);
  });
  assert.ok(found >= 0);
  await page.getByRole("button", { name: "Side by side" }).click();
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 3);
  await page.getByRole("button", { name: "One map" }).click();
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => window.lowland.store.state.view === 2, undefined, { timeout: 20_000 });
  await closePage(page);
});

test("points are colored by reliability, flagged points are hollow, and lines join torn islands", async () => {
  const rows = Array.from({ length: 60 }, (_, i) => {
    const [side, at] = [i < 30 ? 0 : 1, i % 30];
    const cells = [side * 10 + (at % 6), Math.floor(at / 6), i / 60, at === 0 ? 1 : 0, side + 1, at < 5 ? 2 - side : 0];
    return cells.join(",");
  });
  writeTestFile("torn.csv", `projection_x,projection_y,jump,flagged,island,bridge_to\n${rows.join("\n")}\n`);
  lowland("plot", "torn.csv", "--color", "jump", "--quiet", "--out", "torn.html");
  const page = await openPage("torn.html");
  assert.equal(await page.locator("#meaning").innerText(), "How far the point moves on the map if its row is changed a little.");
  const state = () => page.evaluate(() => ({ flagged: window.lowland.store.state.flagged, bridges: window.lowland.store.state.bridges }));
  assert.deepEqual(await state(), { flagged: true, bridges: true });
  // A pixel in the middle of the gap is drawn on only by the line.
  const ink = () =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".overlay")!;
      const data = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
      return data.reduce((sum, value, at) => sum + (at % 4 === 3 && value > 0 ? 1 : 0), 0);
    });
  const redraw = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await redraw();
  const [both] = [await ink()];
  await page.getByLabel("Lines between islands that are connected in the data").uncheck();
  await redraw();
  const withoutLines = await ink();
  await page.getByLabel("Flagged points hollow").uncheck();
  await redraw();
  const neither = await ink();
  assert.ok(both > withoutLines + 200 && withoutLines > neither, JSON.stringify({ both, withoutLines, neither }));
  await page.evaluate(() => window.lowland.panes[0].focus());
  await page.keyboard.press("b");
  await page.keyboard.press("f");
  assert.deepEqual(await state(), { flagged: true, bridges: true });
  await page.getByText("What the scores mean").click();
  assert.equal(await page.locator(".meanings dt").count(), 4);
  await page.locator("#color").selectOption({ label: "reliability: island" });
  assert.deepEqual(await page.locator("#legend .name").allInnerTexts(), ["island 1", "island 2"]);
  await closePage(page);
});
