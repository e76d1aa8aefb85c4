/** Browser tests of points: cards, lines, search, selection and colors. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { closePage, directory, drag, hover, isolatedPoint, openPage, pointPosition } from "./pages";

test("hovering over a point shows its data", async () => {
  const page = await openPage("digits.html");
  const point = await isolatedPoint(page);
  const card = await hover(page, point);
  assert.match(card, new RegExp(`row ${point}\\b`));
  for (const word of ["label", "std", /at\s+x -?[\d.,]+, y -?[\d.,]+/, /neighbors kept\s+\d+ of 15 \(recall [01]\.\d\d\)/]) {
    assert.match(card, new RegExp(word));
  }
  await page.waitForFunction(() => document.querySelector<HTMLCanvasElement>(".thumbnail")?.width === 8);
  const shades = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(".thumbnail")!;
    return new Set(canvas.getContext("2d")!.getImageData(0, 0, 8, 8).data).size;
  });
  assert.ok(shades > 4, "the digit is drawn");
  await page.mouse.move(2, 2);
  await page.waitForSelector(".card", { state: "hidden" });
  await closePage(page);
});

test("a click pins the card, and another click or Escape unpins it", async () => {
  const page = await openPage("digits.html");
  const point = await isolatedPoint(page);
  const { x, y } = await pointPosition(page, point);
  const pinned = () => page.evaluate(() => window.lowland.store.state.pinned);
  await page.mouse.click(x, y);
  assert.equal(await pinned(), point);
  await page.mouse.move(2, 2);
  assert.ok(await page.locator(".card").isVisible());
  await page.mouse.click(x, y);
  assert.equal(await pinned(), -1);
  await page.mouse.click(x, y);
  await page.keyboard.press("Escape");
  assert.equal(await pinned(), -1);
  await closePage(page);
});

test("lines to preserved and lost true neighbors have different colors", async () => {
  const page = await openPage("digits.html");
  // A point with both preserved and lost neighbors.
  const point = await page.evaluate(() => window.lowland.data.maps[0].kept!.findIndex((bits) => bits !== 0 && bits !== 0x7fff));
  await page.evaluate((at) => window.lowland.reveal(at), point);
  await page.waitForTimeout(100);
  const colors = () =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".overlay")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const count = ([r, g, b]: number[]) => {
        let found = 0;
        for (let i = 0; i < data.length; i += 4) {
          if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] > 200) found++;
        }
        return found;
      };
      return { kept: count([0, 0x72, 0xb2]), lost: count([0xd5, 0x5e, 0]) };
    });
  const drawn = await colors();
  assert.ok(drawn.kept > 20 && drawn.lost > 20, JSON.stringify(drawn));
  await page.getByLabel("Lines from the point").uncheck();
  await page.waitForTimeout(100);
  const without = await colors();
  assert.ok(without.kept < drawn.kept && without.lost < drawn.lost, JSON.stringify(without));
  await closePage(page);
});

test("search finds a row and centers it", async () => {
  const page = await openPage("digits.html");
  const box = page.getByLabel("Search");
  await page.keyboard.press("/");
  await page.keyboard.type("1234");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => window.lowland.store.state.pinned), 1234);
  assert.match(await page.locator(".card").innerText(), /row 1234/);
  const { x, y } = await pointPosition(page, 1234);
  const stage = (await page.locator(".stage").boundingBox())!;
  assert.ok(Math.abs(x - stage.x - stage.width / 2) < 2 && Math.abs(y - stage.y - stage.height / 2) < 2, "the point is centered");
  await box.fill("no such thing");
  await page.getByText("0 found").waitFor();
  await box.press("Escape");
  assert.deepEqual(await page.evaluate(() => window.lowland.store.state.matches), []);
  await closePage(page);
});

test("a lasso selects the points inside it, and they can be exported", async () => {
  const page = await openPage("digits.html");
  const stage = (await page.locator(".stage").boundingBox())!;
  const middle = stage.x + stage.width / 2;
  const [top, bottom] = [stage.y + 2, stage.y + stage.height - 2];
  await drag(page, [[stage.x + 2, top], [middle, top], [middle, bottom], [stage.x + 2, bottom]], "Shift");
  const { selected, expected } = await page.evaluate((x) => {
    const { store, panes, data } = window.lowland;
    const left = Array.from({ length: data.rows }, (_, point) => point).filter((point) => panes[0].screen(point).x < x);
    return { selected: store.state.selection!.count, expected: left.length };
  }, middle);
  assert.ok(expected > 100 && expected < 1700, `${expected}`);
  assert.equal(selected, expected);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  assert.equal(download.suggestedFilename(), "digits-selection.csv");
  const lines = readFileSync((await download.path())!, "utf8").trimEnd().split("\r\n");
  assert.equal(lines[0], "row,projection_x,projection_y,std,recall,label");
  assert.equal(lines.length, selected + 1);
  const map = readFileSync(join(directory, "lvm.csv"), "utf8").trimEnd().split("\n");
  const [row, x] = lines[1].split(",").map(Number);
  assert.ok(Math.abs(x - Number(map[row + 1].split(",")[0])) < 0.02, "the coordinates are those of the map");
  await page.getByRole("button", { name: "Clear" }).click();
  assert.equal(await page.evaluate(() => window.lowland.store.state.selection), null);
  await closePage(page);
});

test("the slider hides the least certain points", async () => {
  const page = await openPage("digits.html");
  const shown = () => page.evaluate(() => window.lowland.panes[0].visible);
  assert.equal(await shown(), 1797);
  await page.getByLabel("Hide the least certain").fill("20");
  const left = await shown();
  assert.ok(Math.abs(left - 0.8 * 1797) <= 2, `${left}`);
  const std = readFileSync(join(directory, "lvm.csv"), "utf8").trimEnd().split("\n").slice(1).map((line) => Number(line.split(",")[3]));
  const worst = std.indexOf(Math.max(...std));
  assert.equal(await page.evaluate((at) => Array.from(window.lowland.panes[0].order).includes(at), worst), false);
  await page.getByText(`${left.toLocaleString("en")} of 1,797 points`).waitFor();
  await closePage(page);
});

test("colors follow the column, and classes can be hidden", async () => {
  const page = await openPage("digits.html");
  const legend = page.locator("#legend");
  assert.equal(await legend.locator(".classes li").count(), 10);
  const color = (point: number) => page.evaluate((at) => String(window.lowland.panes[0].coloring.color(at)), point);
  const before = await color(0);
  await page.getByLabel("Color by").selectOption({ label: "neighbors kept (recall)" });
  await legend.locator(".ramp").waitFor();
  assert.notEqual(await color(0), before);
  await page.getByLabel("Color by").selectOption({ label: "std: how uncertain a point is" });
  await page.getByLabel("Color by").selectOption({ label: "label" });
  assert.equal(await color(0), before);
  await legend.getByRole("button", { name: "3" }).first().click();
  assert.equal(await page.evaluate(() => window.lowland.panes[0].visible), 1797 - 183);
  await closePage(page);
});

test("circles of one standard deviation are drawn around visible points", async () => {
  const page = await openPage("digits.html");
  const drawn = () =>
    page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".overlay")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((_, at) => at % 4 === 3).reduce((sum, alpha) => sum + (alpha > 0 ? 1 : 0), 0);
    });
  await page.keyboard.press("t");
  await page.waitForTimeout(100);
  const without = await drawn();
  await page.keyboard.press("u");
  await page.waitForTimeout(100);
  const every = await drawn();
  assert.ok(every > without + 1000, `${without}, ${every}`);
  // The least certain points have the largest circles.
  await page.evaluate(() => window.lowland.store.set({ hide: 50 }));
  await page.waitForTimeout(100);
  assert.ok((await drawn()) < 0.7 * every, "hidden points have no circles");
  await closePage(page);
});
