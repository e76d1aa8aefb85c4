/** Browser tests of selections: what distinguishes them, brushing, points by keyboard and touch; and of hostile text in pictures. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { HOSTILE } from "./browser-setup";
import { closePage, directory, lowland, openPage, writeTestFile } from "./pages";

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

test("hostile names, titles and captions are only text in pictures", async () => {
  const data = ["--data", "hostile.csv", "--id-column", "name", "--label-column", "kind"];
  const text = ["--title", HOSTILE[0], "--caption", HOSTILE.join(" ").slice(0, 3000)];
  for (const [name, flags] of [["names", ["--map-labels", "on"]], ["words", ["--words", "--legend", "right"]], ["islands", ["--map-labels", "islands"]]] as const) {
    lowland("plot", "hostile-map.csv", ...data, ...text, ...flags, "--quiet", "--out", `${name}.svg`, "--out", `${name}.pdf`, "--out", `${name}.png`);
    const page = await openPage("digits.html");
    await page.goto(pathToFileURL(join(directory, `${name}.svg`)).href);
    const texts = await page.evaluate(() => Array.from(document.querySelectorAll("text"), (each) => each.textContent ?? ""));
    assert.ok(texts.includes(HOSTILE[0]), `the title is in ${name}.svg`);
    // Within another page, too.
    writeTestFile("inline.html", `<!doctype html><meta charset="utf-8"><main>${readFileSync(join(directory, `${name}.svg`), "utf8")}</main>`);
    await page.goto(pathToFileURL(join(directory, "inline.html")).href);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main b, main foreignObject").length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(readFileSync(join(directory, `${name}.pdf`)).subarray(0, 5).equals(Buffer.from("%PDF-")));
    await closePage(page);
  }
});
