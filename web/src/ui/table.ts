import { el, type Child } from "./dom.ts";

export interface Column {
  title: string | Node;
  // Columns of numbers are aligned right.
  numeric?: boolean;
}

export interface Row {
  cells: Child[];
  // Class names of the row.
  class?: string;
}

// table makes a table, which scrolls if it is wider than the page. The first cell of a row is its head.
export function table(caption: string, columns: Column[], rows: Row[]): HTMLElement {
  const head = el("tr");
  for (const c of columns) head.append(el("th", { scope: "col", class: c.numeric ? "number" : undefined }, c.title));
  const body = el("tbody");
  for (const row of rows) {
    const tr = el("tr", { class: row.class });
    row.cells.forEach((cell, i) => {
      const kind = columns[i]?.numeric ? "number" : undefined;
      // Tables that narrow screens show as lists repeat the titles beside the values.
      const title = columns[i]?.title;
      tr.append(i === 0 ? el("th", { scope: "row", class: kind }, cell)
        : el("td", { class: kind, "data-title": typeof title === "string" ? title : undefined }, cell));
    });
    body.append(tr);
  }
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), body));
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
