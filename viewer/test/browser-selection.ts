/** Browser tests of selections: what distinguishes them, brushing, by keyboard and by touch. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { closePage, drag, openPage } from "./pages";

test("a selection is described by what distinguishes it", async () => {
  const page = await openPage("digits.html");
  await page.evaluate(() => {
    const { data, store } = window.lowland;
    const [label] = data.columns;
    if (label.kind !== "class") throw new Error("classes");
    const flags = Uint8Array.from(label.codes, (code) => Number(code === 3));
    store.set({ selection: { flags, count: flags.reduce((sum, flag) => sum + flag, 0) } });
  });
  const table = page.getByRole("table", { name: /distinguishes/ });
  await table.waitFor();
  const first = await table.getByRole("row").nth(1).innerText();
  assert.match(first, /label: 3[\s\S]*100 %[\s\S]*0 %/);
  await page.getByRole("button", { name: "Clear" }).click();
  await table.waitFor({ state: "detached" });
  await closePage(page);
});

test("hostile names are plain text in the table of differences", async () => {
  const page = await openPage("hostile.html");
  await page.evaluate(() => {
    const flags = Uint8Array.from({ length: window.lowland.data.rows }, (_, point) => Number(point % 7 === 0));
    window.lowland.store.set({ selection: { flags, count: flags.reduce((sum, flag) => sum + flag, 0) } });
  });
  const table = page.getByRole("table", { name: /distinguishes/ });
  await table.waitFor();
  assert.ok((await table.innerText()).includes("<script>window.hacked"));
  assert.equal(await page.evaluate(() => document.querySelectorAll("#app script, #app img, #app b").length), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await closePage(page);
});

test("points inside the lasso stand out in all maps while it is drawn", async () => {
  const page = await openPage("two.html");
  const stage = (await page.locator(".stage").first().boundingBox())!;
  const [x, y] = [stage.x + stage.width / 2, stage.y + stage.height / 2];
  await page.keyboard.down("Shift");
  await page.mouse.move(x - 120, y - 120);
  await page.mouse.down();
  for (const [dx, dy] of [[120, -120], [120, 120], [-120, 120]]) await page.mouse.move(x + dx, y + dy, { steps: 4 });
  await page.waitForFunction(() => (window.lowland.store.state.selection?.count ?? 0) > 20);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  // Both panes draw the selected points last.
  const last = await page.evaluate(() => {
    const { panes, store } = window.lowland;
    const { flags, count } = store.state.selection!;
    return panes.map(({ order }) => order.slice(order.length - count).every((point) => flags[point] === 1));
  });
  assert.deepEqual(last, [true, true]);
  await closePage(page);
});

test("a slider moves the points from each map to the next", async () => {
  const page = await openPage("two.html");
  const slider = page.getByRole("slider", { name: /From map to map/ });
  await slider.fill("0.5");
  await page.waitForFunction(() => window.lowland.store.state.view === 0.5);
  assert.match((await slider.getAttribute("aria-valuetext"))!, /lvm → pca, 50 %/);
  assert.equal(await page.locator(".pane").count(), 1);
  await page.getByRole("button", { name: "Side by side" }).click();
  assert.equal(await page.locator(".pane").count(), 2);
  await closePage(page);
});

test("points are reached and read out without a pointer, and by touch", async () => {
  const page = await openPage("digits.html");
  const pinned = () => page.evaluate(() => window.lowland.store.state.pinned);
  await page.keyboard.press("p");
  const middle = await pinned();
  assert.ok(middle >= 0);
  assert.match(await page.locator(".card[aria-live=polite]").innerText(), new RegExp(`row ${middle}\\b`));
  await page.keyboard.press("k");
  assert.equal(await pinned(), middle + 1);
  await page.keyboard.press("j");
  assert.equal(await pinned(), middle);
  await page.evaluate(() => {
    const flags = new Uint8Array(window.lowland.data.rows);
    flags[5] = flags[900] = 1;
    window.lowland.store.set({ selection: { flags, count: 2 }, pinned: -1 });
  });
  await page.keyboard.press("k");
  assert.equal(await pinned(), 5);
  await page.keyboard.press("k");
  assert.equal(await pinned(), 900);
  await page.keyboard.press("Escape");
  const place = await page.evaluate(() => window.lowland.panes[0].screen(900));
  const touch = await page.context().newCDPSession(page);
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [place] });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  assert.ok((await pinned()) >= 0, "a tap pins a point");
  await closePage(page);
});

/** Number of selected points. */
const selected = (page: Page) => page.evaluate(() => window.lowland.store.state.selection?.count ?? 0);

test("points are selected by keyboard with a rectangle, and the count is read out", async () => {
  const page = await openPage("digits.html");
  // Only keys: from the top of the page to the button, and back to the map.
  await page.getByRole("button", { name: "Rectangle" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "application");
  assert.equal(await page.getByRole("button", { name: "Rectangle" }).getAttribute("aria-pressed"), "true");
  const status = page.locator("#selected[role=status]");
  await status.getByText(/points in the rectangle: arrow keys move it/).waitFor();
  const rectangle = () => page.evaluate(() => [...window.lowland.store.state.rectangle!]);
  const start = await rectangle();
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowUp", "Shift+ArrowDown", "Shift+ArrowRight"]) await page.keyboard.press(key);
  const [left, top, right, bottom] = start;
  assert.deepEqual(await rectangle(), [left - 40, top - 20, right - 20, bottom]);
  for (let press = 0; press < 20; press++) await page.keyboard.press("Shift+ArrowDown");
  const inside = await page.evaluate(() => {
    const { panes, store } = window.lowland;
    const [x0, y0, x1, y1] = store.state.rectangle!;
    const box = document.querySelector(".overlay")!.getBoundingClientRect();
    return Array.from(panes[0].order).filter((point) => {
      const { x, y } = panes[0].screen(point);
      return x - box.left >= x0 && x - box.left <= x1 && y - box.top >= y0 && y - box.top <= y1;
    }).length;
  });
  assert.ok(inside > 20, `${inside} points`);
  await status.getByText(`${inside} points in the rectangle`).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await selected(page), inside);
  assert.equal(await status.innerText(), `${inside} points selected`);
  assert.equal(await page.evaluate(() => window.lowland.store.state.rectangle), null);
  // Again, where it was: control adds, alt removes, Escape keeps the selection.
  await page.keyboard.press("r");
  for (let press = 0; press < 12; press++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Control+Enter");
  const both = await selected(page);
  assert.ok(both > inside, `${both} of ${inside}`);
  await page.keyboard.press("r");
  await page.keyboard.press("Escape");
  assert.equal(await selected(page), both);
  await page.keyboard.press("r");
  await page.keyboard.press("Alt+Enter");
  assert.ok((await selected(page)) < both);
  await page.keyboard.press("Escape");
  assert.equal(await selected(page), 0);
  await closePage(page);
});

test("a class is selected by a key in the legend, which keeps the focus", async () => {
  const page = await openPage("digits.html");
  const classes = page.locator(".classes button");
  await classes.nth(3).focus();
  await page.keyboard.press("s");
  const counts = await page.evaluate(() => {
    const [label] = window.lowland.data.columns;
    if (label.kind !== "class") throw new Error("classes");
    return Array.from(label.counts);
  });
  assert.equal(await selected(page), counts[3]);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+S");
  assert.equal(await selected(page), counts[3] + counts[4]);
  // Hiding the class draws the legend again.
  await page.keyboard.press("Enter");
  assert.equal(await classes.nth(4).getAttribute("aria-pressed"), "false");
  assert.equal(await page.evaluate(() => Array.from(document.querySelectorAll(".classes button")).indexOf(document.activeElement!)), 4);
  await closePage(page);
});

test("a lasso by touch selects what a lasso by mouse does, and two fingers zoom", async () => {
  const page = await openPage("digits.html");
  const box = (await page.locator(".stage").boundingBox())!;
  const middle = [box.x + box.width / 2, box.y + box.height / 2];
  const path = [[-150, -150], [0, -160], [150, -150], [150, 150], [-150, 150]].map(([dx, dy]) => [middle[0] + dx, middle[1] + dy] as [number, number]);
  await drag(page, path, "Shift");
  const byMouse = await selected(page);
  assert.ok(byMouse > 20, `${byMouse} points by mouse`);
  await page.keyboard.press("Escape");
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    document.querySelector(".overlay")!.addEventListener("pointerdown", (event) => seen.push((event as PointerEvent).pointerType));
  });
  const session = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...points: [number, number][]) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  const tap = async (x: number, y: number) => {
    await touch("touchStart", [x, y]);
    await touch("touchEnd");
  };
  await page.getByRole("button", { name: "Lasso" }).scrollIntoViewIfNeeded();
  const button = (await page.getByRole("button", { name: "Lasso" }).boundingBox())!;
  await tap(button.x + button.width / 2, button.y + button.height / 2);
  await page.waitForFunction(() => window.lowland.store.state.lasso);
  await touch("touchStart", path[0]);
  for (let at = 1; at < path.length; at++) {
    for (const part of [0.25, 0.5, 0.75, 1]) {
      const [[x0, y0], [x1, y1]] = [path[at - 1], path[at]];
      await touch("touchMove", [x0 + part * (x1 - x0), y0 + part * (y1 - y0)]);
    }
  }
  await touch("touchEnd");
  await page.waitForFunction(() => !window.lowland.store.state.lasso);
  assert.equal(await selected(page), byMouse);
  // A second finger ends the lasso: the map is zoomed and the selection stays.
  await page.evaluate(() => window.lowland.store.set({ lasso: true }));
  const zoom = () => page.evaluate(() => window.lowland.panes[0].camera.zoom);
  const before = await zoom();
  const fingers = (apart: number): [number, number][] => [[middle[0] - apart, middle[1]], [middle[0] + apart, middle[1]]];
  await touch("touchStart", fingers(40)[0]);
  await touch("touchStart", ...fingers(40));
  for (const apart of [60, 80, 100, 120]) await touch("touchMove", ...fingers(apart));
  await touch("touchEnd");
  assert.ok((await zoom()) > 1.5 * before, "two fingers zoom");
  assert.equal(await selected(page), byMouse);
  assert.deepEqual(await page.evaluate(() => [...new Set((window as unknown as { seen: string[] }).seen)]), ["touch"]);
  await closePage(page);
});
