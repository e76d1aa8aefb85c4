/** Finds points by id, class or row. */

import type { Dataset } from "./dataset";

export class Search {
  private lowercaseIds: string[] | null = null;

  constructor(private readonly data: Dataset) {}

  /**
   * Returns the points whose id or class contains the query, ignoring case. The row with that number comes first, then ids equal to the
   * query, then ids that start with it.
   */
  find(query: string): number[] {
    const text = query.trim().toLocaleLowerCase();
    if (!text) return [];
    const { ids, rows, columns } = this.data;
    const found: number[] = [];
    const row = /^\d+$/.test(text) ? Number(text) : -1;
    if (row >= 0 && row < rows) found.push(row);
    this.lowercaseIds ??= ids?.map((id) => id.toLocaleLowerCase()) ?? [];
    const classes = columns.flatMap((column) => {
      if (column.kind !== "class") return [];
      const hits = column.names.map((name) => name.toLocaleLowerCase().includes(text));
      return hits.some(Boolean) ? [{ codes: column.codes, hits }] : [];
    });
    if (!ids && classes.length === 0) return found;
    const [equal, prefixed, others]: number[][] = [[], [], []];
    for (let i = 0; i < rows; i++) {
      if (i === row) continue;
      const at = ids ? this.lowercaseIds[i].indexOf(text) : -1;
      if (at === 0) (this.lowercaseIds[i].length === text.length ? equal : prefixed).push(i);
      else if (at > 0 || classes.some(({ codes, hits }) => hits[codes[i]])) others.push(i);
    }
    return found.concat(equal, prefixed, others);
  }
}
