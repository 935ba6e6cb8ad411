import { svg } from "../ui/dom.ts";
import type { Scale } from "./scale.ts";
import type { Series } from "./spec.ts";
import { markerPath } from "./style.ts";

// The names of lines at the right of a chart, each where its line ends.

const characterWidth = 6.4;
const lineHeight = 13;
const sample = 22; // the room of the line's sample before its name
const mostLines = 30; // more names than that are no help
export const leastNamed = 560; // narrower charts have no room for names: the chips above them say which line is whose

export interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

// heightFor is how high a chart must be for the names of so many lines to stand below each other, in pixels; axes are around it.
export function heightFor(lines: number, axes: number): number {
  return lines <= mostLines ? lines * lineHeight + axes : 0;
}

// labelRoom is how wide the names are, in pixels; 0 where there is no room for them, or nothing to tell apart.
export function labelRoom(series: Series[], width: number, height: number): number {
  const lines = series.filter((s) => s.points.length > 0);
  if (lines.length < 2 || width < leastNamed || lines.length * lineHeight > height) return 0;
  return Math.min(Math.max(...lines.map((s) => s.name.length)) * characterWidth + sample + 10, width * 0.22);
}

// spread moves places apart until each is at least gap from the next, and keeps them between low and high where there is room.
// The places come back in the order in which they were given.
export function spread(places: number[], gap: number, low: number, high: number): number[] {
  const order = places.map((at, i) => ({ at: Math.min(high, Math.max(low, at)), i })).sort((a, b) => a.at - b.at || a.i - b.i);
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
    const open = !e.s.style.solid || e.s.style.marker === "cross" || e.s.style.marker === "plus";
    // A thin line leads to a line's end that is near; from one that ends elsewhere it would cross the chart.
    const leader = area.right - e.x < 40 ? svg("path", { class: "leader", d: `M${e.x.toFixed(1)} ${e.y.toFixed(1)}L${from} ${at.toFixed(1)}` }) : null;
    g.append(svg("g", { class: `label ${e.s.style.colour}`, "data-series": e.s.name }, leader,
      svg("path", { class: "line", d: `M${from} ${at.toFixed(1)}h${sample - 8}`, "stroke-dasharray": e.s.style.dash || undefined }),
      svg("path", { class: open ? "marker open" : "marker", d: markerPath(e.s.style.marker, from + (sample - 8) / 2, at, 3.2) }),
      svg("text", { class: "row", x: from + sample - 4, y: (at + 4).toFixed(1) }, name, svg("title", {}, e.s.name))));
  });
  return g;
}
