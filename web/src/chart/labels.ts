import { svg } from "../ui/dom.ts";
import type { Scale } from "./scale.ts";
import type { Series } from "./spec.ts";
import { markerClass, markerPath } from "./style.ts";

// The names of the lines, at the right of a chart, each near the end of its line.

const characterWidth = 6.4;
const lineHeight = 13;
const sample = 22; // the width of the sample of the line before its name
const mostLines = 30; // with more lines, names do not help
export const leastNamed = 560; // narrower charts have no room for names; the arms' buttons show the lines too

export interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

// heightFor gives the height of a chart, in pixels, in which the names of this many lines fit below each other. `axes`
// is the height of the axes.
export function heightFor(lines: number, axes: number): number {
  return lines <= mostLines ? lines * lineHeight + axes : 0;
}

// labelRoom gives the width for the names, in pixels; 0 if there is no room for them, or only one line.
export function labelRoom(series: Series[], width: number, height: number): number {
  const lines = series.filter((s) => s.points.length > 0);
  if (lines.length < 2 || width < leastNamed || lines.length * lineHeight > height) return 0;
  return Math.min(Math.max(...lines.map((s) => s.name.length)) * characterWidth + sample + 10, width * 0.22);
}

// spread moves places apart until neighbours are at least gap apart, and keeps them between low and high if there is
// room. The result has the order of the argument.
export function spread(places: number[], gap: number, low: number, high: number): number[] {
  const order = places.map((at, i) => ({ at: Math.min(high, Math.max(low, at)), i }))
    .sort((a, b) => a.at - b.at || a.i - b.i);
  for (let k = 1; k < order.length; k++) order[k]!.at = Math.max(order[k]!.at, order[k - 1]!.at + gap);
  let most = high;
  for (let k = order.length - 1; k >= 0; k--) {
    order[k]!.at = Math.min(order[k]!.at, most);
    most = order[k]!.at - gap;
  }
  const moved = new Array<number>(places.length);
  for (const o of order) moved[o.i] = o.at;
  return moved;
}

// labels draws the names right of the area.
export function labels(series: Series[], x: Scale, y: Scale, area: Area, room: number): SVGGElement {
  const g = svg("g", { class: "labels" });
  const ends = series.flatMap((s) => {
    const inside = s.points.filter((p) => {
      const at = x.place(p.x);
      return at >= area.left - 1 && at <= area.right + 1 && Number.isFinite(y.place(p.y));
    });
    const last = inside[inside.length - 1];
    return last ? [{ s, x: x.place(last.x), y: y.place(last.y) }] : [];
  });
  const places = spread(ends.map((e) => e.y), lineHeight, area.top, area.bottom);
  const most = Math.max(4, Math.floor((room - sample - 4) / characterWidth));
  ends.forEach((e, i) => {
    const at = places[i]!;
    const from = area.right + 8;
    const name = e.s.name.length > most ? e.s.name.slice(0, most - 1) + "\u2026" : e.s.name;
    const { style } = e.s;
    // A thin line connects the name with the end of its line, unless the line ends far away: it would cross the chart.
    const d = `M${e.x.toFixed(1)} ${e.y.toFixed(1)}L${from} ${at.toFixed(1)}`;
    const leader = area.right - e.x < 40 ? svg("path", { class: "leader", d }) : null;
    const line = { d: `M${from} ${at.toFixed(1)}h${sample - 8}`, "stroke-dasharray": style.dash || undefined };
    g.append(svg("g", { class: `label ${style.colour}`, "data-series": e.s.name }, leader,
      svg("path", { class: "line", ...line }),
      svg("path", { class: markerClass(style), d: markerPath(style.marker, from + (sample - 8) / 2, at, 3.2) }),
      svg("text", { class: "row", x: from + sample - 4, y: (at + 4).toFixed(1) }, name, svg("title", {}, e.s.name))));
  });
  return g;
}
