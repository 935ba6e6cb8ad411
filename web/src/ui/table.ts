import { el, fill, type Child } from "./dom.ts";

// Column is the title of a column. Columns of numbers are aligned right.
export type Column = string | Node | { numeric: string | Node };

// numeric is the title of a column of numbers.
export function numeric(title: string | Node): Column {
  return { numeric: title };
}

export interface Row {
  cells: Child[];
  // Class names of the row.
  class?: string;
}

// table makes a table, which scrolls if it is wider than the page. The first cell of a row is its head.
export function table(caption: string, columns: Column[], rows: Row[]): HTMLElement {
  const head = el("tr");
  const heads = columns.map((c) => (typeof c === "string" || c instanceof Node
    ? { title: c, class: undefined } : { title: c.numeric, class: "number" }));
  for (const h of heads) head.append(el("th", { scope: "col", class: h.class }, h.title));
  const body = el("tbody");
  for (const row of rows) {
    const tr = el("tr", { class: row.class });
    row.cells.forEach((cell, i) => {
      const kind = heads[i]?.class;
      // Tables that narrow screens show as cards repeat the titles beside the values.
      const title = heads[i]?.title;
      tr.append(i === 0 ? el("th", { scope: "row", class: kind }, cell)
        : el("td", { class: kind, "data-title": title instanceof Node ? title.textContent ?? "" : title }, cell));
    });
    body.append(tr);
  }
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), body));
}

// cardTable makes a table of which narrow screens show each row as a card, a list of its values. It is for tables that
// say what was found; long lists of values scroll instead.
export function cardTable(caption: string, columns: Column[], rows: Row[]): HTMLElement {
  const made = table(caption, columns, rows);
  made.classList.add("cards");
  return made;
}

// folded makes a part that is closed at first. Its content is made when the reader opens it. The key is its name in the
// address.
export function folded(summary: string, make: () => HTMLElement, key?: string): HTMLDetailsElement {
  const details = el("details", { class: "data", "data-fold": key }, el("summary", {}, summary));
  let made = false;
  details.addEventListener("toggle", () => {
    if (details.open && !made) {
      made = true;
      details.append(make());
    }
  });
  return details;
}

// refill replaces the children of an element. Folded parts that are open stay open, by their keys.
export function refill(element: Element, ...children: Child[]): void {
  const open = [...element.querySelectorAll<HTMLDetailsElement>("details[open]")].map((f) => f.dataset.fold);
  fill(element, ...children);
  for (const f of element.querySelectorAll("details")) f.open = open.includes(f.dataset.fold);
}
