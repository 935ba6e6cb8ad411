// Makes elements. Text stays text: nothing here parses markup.

export type Child = Node | string | null | undefined;

export interface Attributes {
  class?: string;
  [attribute: string]: string | number | boolean | undefined;
}

// el makes an HTML element. An attribute that is false or undefined is left out.
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  decorate(element, attributes);
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

// svg makes an SVG element.
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  decorate(element, attributes);
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

function decorate(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

// button makes a button; press is called on a click.
export function button(label: string, attributes: Attributes, press: () => void): HTMLButtonElement {
  const b = el("button", { type: "button", ...attributes }, label);
  b.addEventListener("click", press);
  return b;
}

// fill replaces the children of an element.
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => c !== null && c !== undefined));
}
