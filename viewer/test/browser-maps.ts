/** Browser tests of maps: camera, renderers and several maps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { closePage, coverage, drag, hover, isolatedPoint, openPage, pointPosition } from "./pages";

test("wheel, drag and keys move and zoom, and Fit resets the view", async () => {
  const page = await openPage("digits.html");
  const camera = () => page.evaluate(() => ({ zoom: window.lowland.panes[0].camera.zoom, x: window.lowland.panes[0].camera.center[0] }));
  const point = await isolatedPoint(page);
  const { x, y } = await pointPosition(page, point);
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction(() => window.lowland.panes[0].camera.zoom > 1.5);
  const after = await pointPosition(page, point);
  assert.ok(Math.hypot(after.x - x, after.y - y) < 1, "the point stays under the pointer");
  await drag(page, [[300, 300], [420, 330]]);
  const moved = await pointPosition(page, point);
  assert.ok(Math.abs(moved.x - after.x - 120) < 2 && Math.abs(moved.y - after.y - 30) < 2, JSON.stringify({ after, moved }));
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("+");
  assert.ok((await camera()).zoom > 2);
  await page.getByRole("button", { name: "Fit" }).click();
  assert.deepEqual(await camera(), { zoom: 1, x: 0 });
  await closePage(page);
});

test("two fingers zoom", async () => {
  const page = await openPage("digits.html");
  const touch = await page.context().newCDPSession(page);
  const fingers = (gap: number) => [{ x: 400 - gap, y: 300 }, { x: 400 + gap, y: 300 }];
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(40) });
  for (const gap of [50, 70, 90, 120]) await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(gap) });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  const { zoom, pinned } = await page.evaluate(() => ({ zoom: window.lowland.panes[0].camera.zoom, pinned: window.lowland.store.state.pinned }));
  assert.ok(Math.abs(zoom - 3) < 0.3, `${zoom}`);
  assert.equal(pinned, -1, "a pinch is not a click");
  await closePage(page);
});

test("without WebGL2 the same map is drawn on a canvas", async () => {
  const [fast, plain] = [await openPage("digits.html?webgl"), await openPage("digits.html?canvas")];
  assert.equal(await fast.evaluate(() => window.lowland.panes[0].renderer.name), "webgl");
  assert.equal(await plain.evaluate(() => window.lowland.panes[0].renderer.name), "canvas");
  const [a, b] = [await coverage(fast), await coverage(plain)];
  assert.ok(Math.max(...a) > 0.02, "something is drawn");
  a.forEach((share, part) => assert.ok(Math.abs(share - b[part]) < 0.02 + 0.25 * share, `part ${part}: ${share} and ${b[part]}`));
  const point = await isolatedPoint(plain);
  assert.match(await hover(plain, point), new RegExp(`row ${point}\\b`));
  // The test browser renders WebGL in software, so the page prefers the canvas.
  const automatic = await openPage("digits.html");
  assert.equal(await automatic.evaluate(() => window.lowland.panes[0].renderer.name), "canvas");
  for (const page of [fast, plain, automatic]) await closePage(page);
});

test("the map survives the loss of the WebGL context", async () => {
  const page = await openPage("digits.html?webgl");
  const expected = await coverage(page);
  assert.equal(await page.evaluate(() => window.lowland.panes[0].renderer.name), "webgl");
  await page.evaluate(() => window.lowland.panes[0].renderer.dispose());
  await page.waitForFunction(() => window.lowland.panes[0].renderer.name === "canvas");
  const found = await coverage(page);
  expected.forEach((share, part) => assert.ok(Math.abs(share - found[part]) < 0.02 + 0.25 * share, `part ${part}`));
  await closePage(page);
});

test("maps side by side share point, selection and view, and points move between maps", async () => {
  const page = await openPage("two.html?webgl");
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 2);
  const point = await isolatedPoint(page);
  const card = await hover(page, point);
  assert.match(card, /lvm at[\s\S]*pca at/);
  const { x, y } = await pointPosition(page, point, 0);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction(() => window.lowland.panes[0].camera.zoom > 1.2);
  const zooms = await page.evaluate(() => window.lowland.panes.map((pane) => pane.camera.zoom));
  assert.equal(zooms[0], zooms[1]);
  await drag(page, [[x - 60, y - 60], [x + 60, y - 60], [x + 60, y + 60], [x - 60, y + 60]], "Shift");
  const last = await page.evaluate(() => {
    const { panes, store } = window.lowland;
    const { flags, count } = store.state.selection!;
    return Array.from(panes[1].order.subarray(-count)).every((at) => flags[at] === 1);
  });
  assert.ok(last, "points selected in one map are drawn on top in the other");
  await page.getByRole("button", { name: "lvm", exact: true }).click();
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  const still = await coverage(page);
  // At once, because the movement may be over when a slow machine looks.
  const t = await page.getByRole("button", { name: "pca", exact: true }).evaluate((button: HTMLElement) => {
    button.click();
    return window.lowland.panes[0].t;
  });
  assert.ok(t < 1, "the points are moving");
  await page.waitForFunction(() => window.lowland.panes[0].t === 1);
  const moved = await coverage(page);
  assert.ok(moved.some((share, part) => Math.abs(share - still[part]) > 0.01));
  await closePage(page);
});

test("three-dimensional maps rotate, with and without WebGL2", async () => {
  for (const address of ["deep.html?webgl", "deep.html?canvas"]) {
    const page = await openPage(address);
    const before = await coverage(page);
    const at = await pointPosition(page, 7);
    await drag(page, [[300, 300], [450, 340]]);
    const after = await pointPosition(page, 7);
    assert.ok(Math.hypot(after.x - at.x, after.y - at.y) > 5, "the point has moved");
    const rotated = await coverage(page);
    assert.ok(rotated.some((share, part) => Math.abs(share - before[part]) > 0.005));
    const point = await page.evaluate(() => {
      const { panes } = window.lowland;
      const { x, y } = panes[0].screen(7);
      const { left, top } = document.querySelector(".overlay")!.getBoundingClientRect();
      return panes[0].pick(x - left, y - top);
    });
    assert.ok(point >= 0);
    await closePage(page);
  }
});

test("the keys M and A switch between single maps and all maps", async () => {
  const page = await openPage("two.html");
  const view = () => page.evaluate(() => window.lowland.store.state.view);
  assert.equal(await view(), "all");
  for (const wanted of [0, 1, 0]) {
    await page.keyboard.press("m");
    assert.equal(await view(), wanted);
    assert.equal(await page.evaluate(() => window.lowland.panes.length), 1);
  }
  await page.keyboard.press("a");
  assert.equal(await page.evaluate(() => window.lowland.panes.length), 2);
  await closePage(page);
});
