/** What needs no browser, against slow and obvious ways to the same. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera, type Vec3 } from "../src/camera";
import { coloring, DARK, GROUND, LIGHT, ramp, type Rgb, rgb, swatchesOf } from "../src/colors";
import { csv } from "../src/csv";
import { bits, coordinates, type Dataset, placed } from "../src/dataset";
import { clipped, number } from "../src/dom";
import { Grid } from "../src/grid";
import { ellipse, middles } from "../src/overlay";
import { Search } from "../src/search";
import { joined } from "../src/sections";
import { selectionOf, type State, Store } from "../src/store";
import { drawn, inside, painted, shuffled, threshold, visibility } from "../src/visible";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

function cloud(rows: number, seed: number): Float32Array<ArrayBuffer> {
  const next = random(seed);
  return Float32Array.from({ length: 3 * rows }, () => 2 * next() - 1);
}

const STATE: State = {
  mode: { by: "none" }, theme: "light", hide: 0, off: new Set(), selection: null, hover: -1, pinned: -1, matches: [],
  neighbors: false, circles: false, names: false, words: false, size: 1, lasso: false, view: 0,
};

function small(): Dataset {
  const stored = Uint16Array.from([0, 0, 65535, 65535, 32768, 0]);
  const { positions, frame } = placed(stored, { dim: 2, low: [-2, 10], high: [4, 12] }, 3);
  const map = {
    name: "a", caption: "", dim: 2, dimOf: 2, positions, frame,
    std: Float32Array.from([0.5, 2, 1]), covariances: null, kept: Uint16Array.from([3, 0, 1]),
  };
  const codes = Uint32Array.from([0, 1, 0]);
  return {
    title: "t", rows: 3, live: false, start: { mode: null, hide: 0, circles: false, words: false, dark: false }, maps: [map], images: null, table: null,
    columns: [{ name: "kind", kind: "class", codes, names: ["pla,in", 'qu"oted'], counts: Uint32Array.from([2, 1]) }],
    ids: ["Alpha", "<script>", "al\nso"],
    neighbors: { k: 2, shown: 2, lists: Uint32Array.from([1, 2, 0, 2, 0, 1]) },
  };
}

test("bytes by significance become the numbers they came from", () => {
  const numbers = Uint32Array.from([1, 70_000, 0xdeadbeef]);
  const flat = new Uint8Array(numbers.buffer);
  const planes = Uint8Array.from({ length: 12 }, (_, at) => flat[(at % 3) * 4 + Math.floor(at / 3)]);
  assert.deepEqual(new Uint32Array(joined(planes, 4)), numbers);
});

test("stored steps become the map's own coordinates again", () => {
  const { maps } = small();
  const near = (found: number[], wanted: number[]) => wanted.forEach((w, c) => assert.ok(Math.abs(found[c] - w) < 1e-4, `${found}`));
  near(coordinates(maps[0], 0), [-2, 10]);
  near(coordinates(maps[0], 1), [4, 12]);
  near(coordinates(maps[0], 2), [1, 10]);
});

test("maps of one point, of equal points and of huge numbers have finite places", () => {
  for (const [low, high] of [[[3], [3]], [[-1.7e308], [1.7e308]]]) {
    const { positions } = placed(Uint16Array.from([0, 65535]), { dim: 1, low, high }, 2);
    assert.ok(positions.every(Number.isFinite), `${positions}`);
  }
  assert.equal(placed(new Uint16Array(0), { dim: 2, low: [0, 0], high: [0, 0] }, 0).positions.length, 0);
});

test("a far point does not make a speck of the rest", () => {
  const stored = Float32Array.from({ length: 2000 }, (_, i) => (i < 1999 ? i / 2e9 : 1));
  const { positions } = placed(stored, { dim: 1, low: [0], high: [1] }, 2000);
  assert.ok(positions[3 * 1900] - positions[0] > 1, "the middle fills the view");
});

test("the grid finds the same point as looking at all of them", () => {
  const positions = cloud(3000, 1);
  const grid = new Grid(positions);
  const next = random(2);
  const wanted = (point: number) => point % 3 !== 0;
  for (let query = 0; query < 500; query++) {
    const [x, y, radius] = [3 * next() - 1.5, 3 * next() - 1.5, 0.2 * next()];
    let [best, least] = [-1, radius * radius];
    for (let i = 0; i < 3000; i++) {
      const distance = (positions[3 * i] - x) ** 2 + (positions[3 * i + 1] - y) ** 2;
      if (wanted(i) && distance < least) [best, least] = [i, distance];
    }
    assert.equal(grid.nearest(x, y, radius, wanted), best);
  }
  assert.equal(new Grid(new Float32Array(0)).nearest(0, 0, 1, () => true), -1);
  assert.equal(new Grid(Float32Array.from([5, 5, 0, 5, 5, 0])).nearest(5, 5, 1, () => true), 0);
});

test("zooming keeps what is under the pointer, and a pixel is where its point is", () => {
  const camera = new Camera();
  [camera.width, camera.height] = [800, 600];
  const before = camera.unproject(123, 456);
  camera.zoomAt(3.7, 123, 456);
  const after = camera.unproject(123, 456);
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9);
  const place = camera.project(Float32Array.from([...after, 0]), 0, [0, 0, 0]);
  assert.ok(Math.hypot(place[0] - 123, place[1] - 456) < 1e-2);
});

test("a turned map stays rigid however often it is turned", () => {
  const camera = new Camera(true);
  const next = random(3);
  for (let i = 0; i < 10_000; i++) camera.rotate(next() - 0.5, next() - 0.5);
  const dot = (a: Vec3, b: Vec3) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  camera.turn.forEach((a, i) => camera.turn.forEach((b, j) => assert.ok(Math.abs(dot(a, b) - (i === j ? 1 : 0)) < 1e-9)));
});

test("the slider hides the least certain share", () => {
  const std = Float32Array.from({ length: 200 }, (_, i) => (i * 7919) % 200);
  assert.equal(threshold(std, 0), Infinity);
  for (const hide of [1, 5, 50, 99]) assert.equal(std.filter((v) => v <= threshold(std, hide)).length, 200 - 2 * hide);
});

test("hidden classes and uncertain points are not drawn, chosen ones are drawn last", () => {
  const data = small();
  const state: State = { ...STATE, mode: { by: "column", column: 0 } };
  const order = (change: Partial<State>) => {
    const now = { ...state, ...change };
    return Array.from(drawn(Uint32Array.from([2, 1, 0]), visibility(data, data.maps[0], now), now));
  };
  assert.deepEqual(order({}), [2, 1, 0]);
  assert.deepEqual(order({ off: new Set([0]) }), [1]);
  assert.deepEqual(order({ hide: 34 }), [2, 0]);
  assert.deepEqual(order({ selection: selectionOf(Uint8Array.from([0, 0, 1])) }), [1, 0, 2]);
});

test("points that are not chosen step back", () => {
  const colors = painted(2, () => [10, 20, 30], 0.5, { ...STATE, selection: selectionOf(Uint8Array.from([1, 0])) });
  assert.ok(colors[3] > 3 * colors[7]);
  assert.deepEqual(Array.from(colors.subarray(0, 3)), [10, 20, 30]);
});

test("the shuffle is a permutation, always the same, and mixes", () => {
  const order = shuffled(1000);
  assert.deepEqual(Array.from(order).sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i));
  assert.deepEqual(order, shuffled(1000));
  const mean = order.subarray(0, 200).reduce((sum, v) => sum + v, 0) / 200;
  assert.ok(Math.abs(mean - 500) < 80, `${mean}`);
});

test("inside and outside of a lasso, also a bent one", () => {
  const bent: [number, number][] = [[0, 0], [4, 0], [4, 4], [2, 1], [0, 4]];
  assert.ok(inside(0.5, 2, bent) && inside(3.5, 2, bent));
  assert.ok(!inside(2, 3, bent) && !inside(5, 1, bent) && !inside(-1, 0.5, bent));
});

test("search finds ids and classes in any case, and rows by number", () => {
  const search = new Search(small());
  assert.deepEqual(search.find("AL"), [0, 2]);
  assert.deepEqual(search.find(" <SCRIPT> "), [1]);
  assert.deepEqual(search.find("quoted"), []);
  assert.deepEqual(search.find('qu"'), [1]);
  assert.deepEqual(search.find("2"), [2]);
  assert.deepEqual(search.find("99"), []);
  assert.deepEqual(search.find("  "), []);
  const words = new Search({ ...small(), ids: ["making", "King", "kingdom"], columns: [] });
  assert.deepEqual(words.find("king"), [1, 2, 0], "the word itself comes first");
});

test("the table of chosen points is quoted as RFC 4180 says", () => {
  const lines = csv(small(), Uint8Array.from([0, 1, 1])).split("\r\n");
  assert.equal(lines[0], "row,id,projection_x,projection_y,std,recall,kind");
  assert.match(lines[1], /^1,<script>,[\d.]+,[\d.]+,2,0,"qu""oted"$/);
  assert.match(lines[2], /^2,"al\nso",.*,1,0\.5,"pla,in"$/);
});

test("bits are counted", () => {
  for (let word = 0; word < 65536; word += 37) assert.equal(bits(word), word.toString(2).replaceAll("0", "").length);
});

test("texts are cut between characters, not inside them", () => {
  assert.equal(clipped("𝒳𝒴𝒵", 2), "𝒳𝒴…");
  assert.equal(clipped("abc", 3), "abc");
  assert.equal(clipped("x".repeat(10_000), 5), "xxxxx…");
  assert.equal(number(-131.4321), "-131.4");
  assert.equal(number(NaN), "missing");
});

test("the name of a class stands at the middle of its points", () => {
  const map = { ...small().maps[0], positions: Float32Array.from([0, 0, 0, 1, 5, 0, 9, 1, 0, 7, 7, 7]) };
  const { places, spread } = middles(map, Uint32Array.from([0, 0, 0, 2]), 3);
  assert.deepEqual(Array.from(places.subarray(0, 2)), [1, 1]);
  assert.ok(Number.isNaN(places[3]));
  assert.equal(places[6], 7);
  assert.deepEqual(Array.from(spread), [1, NaN, 0]);
});

test("a change is told once, and only when it is one", () => {
  const store = new Store(STATE);
  const heard: string[] = [];
  store.on((changed) => heard.push([...changed].join()));
  store.set({ hide: 0 });
  store.set({ hide: 3, hover: -1 });
  assert.deepEqual(heard, ["hide"]);
  assert.equal(store.focus, -1);
});

/** Ottosson's OKLab. */
function lab(color: Rgb): number[] {
  const [r, g, b] = color.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const l = Math.cbrt(0.41222146 * r + 0.53633255 * g + 0.051445995 * b);
  const m = Math.cbrt(0.2119035 * r + 0.6806995 * g + 0.10739696 * b);
  const s = Math.cbrt(0.08830246 * r + 0.28171885 * g + 0.6299787 * b);
  return [
    0.21045426 * l + 0.7936178 * m - 0.004072047 * s,
    1.9779985 * l - 2.4285922 * m + 0.4505937 * s,
    0.025904037 * l + 0.78277177 * m - 0.80867577 * s,
  ];
}

test("classes stay apart from each other and from the ground, dark or light", () => {
  const apart = (a: Rgb, b: Rgb) => Math.hypot(...lab(a).map((v, c) => v - lab(b)[c]));
  for (const [palette, ground] of [[LIGHT, GROUND.light], [DARK, GROUND.dark]] as const) {
    palette.forEach((a, i) => {
      assert.ok(apart(rgb(a), ground) > 0.2, `${i} against the ground`);
      palette.slice(i + 1).forEach((b) => assert.ok(apart(rgb(a), rgb(b)) > 0.11, a.toString(16) + b.toString(16)));
    });
  }
});

test("ramps only get darker on light ground and lighter on dark", () => {
  for (const [theme, sign] of [["light", -1], ["dark", 1]] as const) {
    const lightness = Array.from({ length: 41 }, (_, i) => lab(ramp(i / 40, theme))[0]);
    for (let i = 1; i < lightness.length; i++) assert.ok(sign * (lightness[i] - lightness[i - 1]) > 0, `${theme} ${i}`);
  }
});

test("the largest classes have colours, the rest are grey", () => {
  const counts = Uint32Array.from({ length: 30 }, (_, code) => 1 + code);
  const swatches = swatchesOf(counts, "light").map(String);
  assert.equal(new Set(swatches).size, LIGHT.length + 1);
  assert.equal(swatches[0], swatches[9]);
  assert.notEqual(swatches[10], swatches[9]);
});

test("numbers are coloured by rank of value, missing ones in grey", () => {
  const data: Dataset = { ...small(), columns: [{ name: "x", kind: "number", values: Float32Array.from([1, 2, NaN]) }] };
  const look = coloring(data, data.maps[0], { by: "column", column: 0 }, "light");
  assert.ok(look.kind === "number" && look.low === 1 && look.middle === 1.5 && look.high === 2);
  assert.equal(new Set([0, 1, 2].map((point) => String(look.color(point)))).size, 3);
  const endless: Dataset = { ...data, columns: [{ name: "x", kind: "number", values: Float32Array.from([1, Infinity, NaN, -Infinity, 2]) }] };
  const beyond = coloring(endless, data.maps[0], { by: "column", column: 0 }, "light");
  assert.equal(new Set([1, 2, 3].map((point) => String(beyond.color(point)))).size, 1, "what is not finite is missing");
  assert.notDeepEqual(beyond.color(4), beyond.color(1));
  const wide: Dataset = { ...data, columns: [{ name: "x", kind: "number", values: Float32Array.from({ length: 101 }, (_, i) => 10 ** (i / 25)) }] };
  const log = coloring(wide, null, { by: "column", column: 0 }, "light");
  assert.ok(log.kind === "number" && Math.abs(log.middle - 100) < 1, "orders of magnitude are shown by logarithms");
  assert.deepEqual(log.color(50), ramp(0.5, "light"));
  const kept = coloring(data, data.maps[0], { by: "recall" }, "light");
  assert.deepEqual(kept.color(0), ramp(1, "light"));
});

test("a covariance is seen as an ellipse along its own direction, from any side", () => {
  const [map] = small().maps;
  const front: [number, number, number][] = [[1, 0, 0], [0, 1, 0]];
  const near = (found: number, wanted: number) => assert.ok(Math.abs(found - wanted) < 1e-6, `${found}, not ${wanted}`);
  const circle = ellipse(map, front, 1)!;
  assert.deepEqual(circle, { long: 2, wide: 2, angle: 0 });
  assert.equal(ellipse({ ...map, std: null }, front, 1), null);
  // Length 2 up to the right at 30 degrees, width 0.5.
  const [cos, sin] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const tilted = [4 * cos * cos + 0.25 * sin * sin, 3.75 * cos * sin, 4 * sin * sin + 0.25 * cos * cos];
  const flat = ellipse({ ...map, covariances: Float32Array.from([0, 0, 0, ...tilted]) }, front, 1)!;
  near(flat.long, 2);
  near(flat.wide, 0.5);
  near(flat.angle, -Math.PI / 6);
  // In three dimensions: long along z is seen from the side only.
  const deep = { ...map, dim: 3, covariances: Float32Array.from([1, 0, 0, 1, 0, 9]) };
  near(ellipse(deep, front, 0)!.long, 1);
  const side = ellipse(deep, [[0, 0, 1], [0, 1, 0]], 0)!;
  near(side.long, 3);
  near(side.wide, 1);
  near(side.angle, 0);
});
