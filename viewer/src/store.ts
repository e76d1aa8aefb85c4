/** The state of the user interface. What is drawn depends only on the state and the data. */

import type { ColorMode, Theme } from "./colors";
import type { Rectangle } from "./rectangle";

/** Points selected by lasso, rectangle, class or search. */
export interface Selection {
  flags: Uint8Array;
  count: number;
}

export interface State {
  mode: ColorMode;
  theme: Theme;
  /** Percentage of points to hide, the least certain first. */
  hide: number;
  /** Classes hidden in the legend. */
  hiddenClasses: ReadonlySet<number>;
  selection: Selection | null;
  /** The point under the pointer and the clicked point; -1 for none. */
  hover: number;
  pinned: number;
  /** Points found by the search. */
  matches: number[];
  neighbors: boolean;
  circles: boolean;
  names: boolean;
  /** Whether flagged points are drawn hollow. */
  flagged: boolean;
  /** Whether lines are drawn between islands that are connected in the data. */
  bridges: boolean;
  /** Whether to write ids next to points where there is space. */
  words: boolean;
  /** Factor of the point size. */
  size: number;
  lasso: boolean;
  /** The rectangle that keys move over the first map. */
  rectangle: Rectangle | null;
  /** All maps, or the index of one; between two indices while a slider moves the points from one map to the next. */
  view: "all" | number;
}

export type StateKey = keyof State;
type Listener = (changed: ReadonlySet<StateKey>, before: State) => void;

export class Store {
  private listeners: Listener[] = [];

  constructor(public state: State) {}

  on(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    const before = this.state;
    const changed = new Set((Object.keys(change) as StateKey[]).filter((key) => before[key] !== change[key]));
    if (changed.size === 0) return;
    this.state = { ...before, ...change };
    for (const listener of this.listeners) listener(changed, before);
  }

  /** The point whose lines and card are shown. */
  get focus(): number {
    return this.state.hover >= 0 ? this.state.hover : this.state.pinned;
  }
}

/** How points change the selection. */
export type SelectionChange = "replace" | "add" | "remove";

/** Returns the flags of the selection to which points are added or from which they are removed, or those of none. */
export function selectedBefore({ selection }: State, rows: number, how: SelectionChange): Uint8Array {
  return (how !== "replace" && selection?.flags.slice()) || new Uint8Array(rows);
}

export function createSelection(flags: Uint8Array): Selection | null {
  let count = 0;
  for (const flag of flags) count += flag;
  return count > 0 ? { flags, count } : null;
}
