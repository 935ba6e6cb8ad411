import { svg } from "../ui/dom.ts";
import type { Scale } from "./scale.ts";
import type { Point, Series } from "./spec.ts";
import { markerClass, markerPath } from "./style.ts";

// Draws one series with a few SVG elements, whatever its number of points.

export interface Places {
  x: Scale;
  y: Scale;
  // Half the width of a marker, in pixels.
  radius: number;
}

// marks draws a series into a group.
export function marks(s: Series, at: Places): SVGGElement {
  const g = svg("g", { class: `series ${s.style.colour} ${s.class ?? ""}`.trim(), "data-series": s.name });
  switch (s.kind) {
    case "line":
      if (s.band) g.append(svg("path", { class: "band", d: band(s, at) }));
      g.append(svg("path", { class: "line", d: polyline(s.points, at), "stroke-dasharray": s.style.dash
        || undefined }));
      if (s.whiskers) g.append(svg("path", { class: "interval", d: intervals(s, at) }));
      if (s.markers) g.append(dots(s, at));
      break;
    case "dots":
      g.append(dots(s, at));
      break;
    case "interval":
      g.append(svg("path", { class: "interval", d: intervals(s, at) }), dots(s, at));
      break;
    case "bar":
      g.append(svg("path", { class: "bar", d: bars(s, at) }), svg("path", { class: "interval", d: intervals(s, at) }));
      break;
  }
  return g;
}

const f = (n: number) => n.toFixed(1);

function dots(s: Series, at: Places): SVGPathElement {
  const d = s.points.map((p) => markerPath(s.style.marker, at.x.place(p.x), at.y.place(p.y), at.radius)).join("");
  return svg("path", { class: markerClass(s.style), d });
}

function polyline(points: Point[], at: Places): string {
  let d = "";
  let on = false;
  for (const p of points) {
    const x = at.x.place(p.x);
    const y = at.y.place(p.y);
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      on = false;
      continue;
    }
    d += `${on ? "L" : "M"}${f(x)} ${f(y)}`;
    on = true;
  }
  return d;
}

// band is the area between low and high.
function band(s: Series, at: Places): string {
  const known = s.points.filter((p) => p.low !== undefined && p.high !== undefined);
  if (known.length < 2) return "";
  const edge = (end: "low" | "high") => known.map((p) => (s.along === "x"
    ? `${f(at.x.place(p[end]!))} ${f(at.y.place(p.y))}` : `${f(at.x.place(p.x))} ${f(at.y.place(p[end]!))}`));
  return `M${edge("low").join("L")}L${edge("high").reverse().join("L")}z`;
}

// end gives the place of an end of an interval: the edge of the chart if it has no bound.
function end(scale: Scale, v: number): number {
  return scale.place(Number.isFinite(v) ? v : scale.domain[v < 0 ? 0 : 1]);
}

function intervals(s: Series, at: Places): string {
  let d = "";
  for (const p of s.points) {
    if (p.low === undefined || p.high === undefined) continue;
    if (s.along === "x") {
      const y = at.y.place(p.y);
      const low = end(at.x, p.low);
      const high = end(at.x, p.high);
      d += `M${f(low)} ${f(y)}H${f(high)}M${f(low)} ${f(y - 4)}v8M${f(high)} ${f(y - 4)}v8`;
    } else {
      const x = at.x.place(p.x);
      const low = end(at.y, p.low);
      const high = end(at.y, p.high);
      d += `M${f(x)} ${f(low)}V${f(high)}M${f(x - 4)} ${f(low)}h8M${f(x - 4)} ${f(high)}h8`;
    }
  }
  return d;
}

function bars(s: Series, at: Places): string {
  let d = "";
  for (const p of s.points) {
    const y = at.y.place(p.y);
    const half = Math.min(11, Math.abs(at.y.place(p.y + 0.36) - y));
    const from = at.x.place(p.from ?? 0);
    const to = at.x.place(p.x);
    // A bar of length 0 stays visible.
    const wide = Math.abs(to - from) < 1.5 ? 1.5 : Math.abs(to - from);
    d += `M${f(Math.min(from, to))} ${f(y - half)}h${f(wide)}v${f(2 * half)}h${f(-wide)}z`;
  }
  return d;
}
