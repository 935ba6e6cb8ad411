import { svg } from "../ui/dom.ts";
import type { Area } from "./labels.ts";
import type { Scale, Tick } from "./scale.ts";

// The axes of a chart: grid, ticks and titles.

// characterWidth is the approximate width of a character of a tick, in pixels.
export const characterWidth = 6.8;

export function xAxis(ticks: Tick[], scale: Scale, label: string, a: Area): SVGGElement {
  const g = svg("g", { class: "axis" });
  let grid = "";
  for (const t of ticks) {
    const x = scale.place(t.at);
    if (!t.minor) grid += `M${x.toFixed(1)} ${a.top}V${a.bottom}`;
    if (t.label) g.append(svg("text", { x: x.toFixed(1), y: a.bottom + 16, "text-anchor": "middle" }, t.label));
  }
  const base = svg("path", { class: "base", d: `M${a.left} ${a.bottom}H${a.right}` });
  g.prepend(svg("path", { class: "grid", d: grid }), base);
  g.append(svg("text", { class: "title", x: a.right, y: a.bottom + 34, "text-anchor": "end" }, label));
  return g;
}

export function yAxis(ticks: Tick[], scale: Scale, label: string, a: Area): SVGGElement {
  const g = svg("g", { class: "axis" });
  let grid = "";
  for (const t of ticks) {
    const y = scale.place(t.at);
    if (!t.minor) grid += `M${a.left} ${y.toFixed(1)}H${a.right}`;
    if (t.label) g.append(svg("text", { x: a.left - 8, y: (y + 4).toFixed(1), "text-anchor": "end" }, t.label));
  }
  g.prepend(svg("path", { class: "grid", d: grid }));
  g.append(svg("text", { class: "title", x: 2, y: 12 }, label));
  return g;
}

export function rowAxis(rows: string[], scale: Scale, a: Area): SVGGElement {
  const g = svg("g", { class: "axis" });
  const most = Math.max(6, Math.floor((a.left - 12) / characterWidth));
  let grid = "";
  rows.forEach((row, i) => {
    const y = scale.place(i);
    grid += `M${a.left} ${y.toFixed(1)}H${a.right}`;
    const shown = row.length > most ? row.slice(0, most - 1) + "\u2026" : row;
    const at = { x: a.left - 8, y: (y + 4).toFixed(1), "text-anchor": "end" };
    g.append(svg("text", { class: "row", ...at }, shown, svg("title", {}, row)));
  });
  g.prepend(svg("path", { class: "grid", d: grid }));
  return g;
}

export function rule(scale: Scale, r: { axis: "x" | "y"; at: number }, a: Area): SVGPathElement {
  const at = scale.place(r.at).toFixed(1);
  const d = r.axis === "x" ? `M${at} ${a.top - 6}V${a.bottom}` : `M${a.left} ${at}H${a.right}`;
  return svg("path", { class: "rule", d });
}
