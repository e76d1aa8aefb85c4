/** Creates DOM elements. Text becomes text nodes, so that data are never parsed as markup. */

type Child = Node | string | null | undefined | false;
type Properties = Record<string, unknown>;

/** Creates an element. Properties that start with "on" are event listeners; "class", "aria-..." and the like are attributes. */
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

/** Creates an element with text of the data, in its own direction and truncated. */
export function dataText(text: string, maxLength = 300): HTMLElement {
  return h("bdi", { dir: "auto" }, truncate(text, maxLength));
}

/** Returns the name of a class, or "(empty)" for a blank name, as in pictures (class_legend.rs). */
export const classLabel = (name: string) => (name.trim() ? name : "(empty)");

/** Truncates text to a number of characters. */
export function truncate(text: string, maxLength: number): string {
  const characters = Array.from(text.slice(0, 2 * maxLength + 2));
  return characters.length > maxLength ? `${characters.slice(0, maxLength).join("")}…` : text;
}

/** Formats a number with four significant digits. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "missing";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** Formats an integer with separators between thousands. */
export const formatCount = (value: number) => value.toLocaleString("en");
