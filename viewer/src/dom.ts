/** Elements by hand. Text becomes text nodes: nothing of the data is ever markup. */

type Child = Node | string | null | undefined | false;
type Properties = Record<string, unknown>;

/** An element; properties starting with "on" listen, "class", "aria-..." and the like are attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && !name.includes("-")) Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

/** Text of the data: its own direction, cut where it would fill the page. */
export function data(text: string, most = 300): HTMLElement {
  return h("bdi", { dir: "auto" }, clipped(text, most));
}

/** What stands for the name of a class in which there is nothing to read, as in pictures (classes.rs). */
export const className = (name: string) => (name.trim() ? name : "(empty)");

export function clipped(text: string, most: number): string {
  const characters = Array.from(text.slice(0, 2 * most + 2));
  return characters.length > most ? `${characters.slice(0, most).join("")}…` : text;
}

/** `12 345.6` as people read it: four digits that matter. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "missing";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}

export const count = (value: number) => value.toLocaleString("en");
