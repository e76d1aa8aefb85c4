/** Exports selected points as CSV. */

import { coordinates, type Dataset, recall } from "./dataset";

const AXES = ["x", "y", "z"];

/** Quotes a cell according to RFC 4180. */
function cell(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns a table of the selected points: row, id, coordinates, std, reliability and recall in every map, and all columns. */
export function toCsv(data: Dataset, flags: Uint8Array): string {
  const single = data.maps.length === 1;
  const columnName = (name: string, map: string) => (single ? name : `${name}_${map}`);
  const columns: [string, (point: number) => string | number][] = [["row", (point) => point]];
  const { ids, neighbors } = data;
  if (ids) columns.push(["id", (point) => ids[point]]);
  for (const map of data.maps) {
    for (let c = 0; c < map.dim; c++) {
      columns.push([columnName(`projection_${AXES[c]}`, map.name), (point) => coordinates(map, point)[c]]);
    }
    const { std, kept } = map;
    if (std) columns.push([columnName("std", map.name), (point) => std[point]]);
    for (const { name, values } of map.reliability) columns.push([columnName(name, map.name), (point) => values[point]]);
    if (kept && neighbors) columns.push([columnName("recall", map.name), (point) => recall(map, neighbors.k, point)]);
  }
  for (const column of data.columns) {
    if (column.kind === "number") columns.push([column.name, (point) => column.values[point]]);
    else columns.push([column.name, (point) => column.names[column.codes[point]]]);
  }
  const lines = [columns.map(([name]) => cell(name)).join(",")];
  flags.forEach((flag, point) => {
    if (flag) lines.push(columns.map(([, value]) => cell(value(point))).join(","));
  });
  return `${lines.join("\r\n")}\r\n`;
}

/** Downloads text as a file. */
export function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
