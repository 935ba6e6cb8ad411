import { button, el, fill, svg } from "../ui/dom.ts";
import { characterWidth, rowAxis, rule, xAxis, yAxis } from "./axes.ts";
import { downloads } from "./download.ts";
import { heightFor, labelRoom, labels, leastNamed, type Area } from "./labels.ts";
import { marks } from "./marks.ts";
import { padded, scaleOf, type Scale } from "./scale.ts";
import type { Axis, Point, Series, Spec } from "./spec.ts";

// Plot is a chart in SVG. It is drawn again when its spec, its width or its zoom changes. The pointer shows the nearest
// point, and dragging zooms in. The arrow keys go from point to point, + and - zoom, Escape zooms out.

interface Zoom {
  x?: [number, number];
  y?: [number, number];
}

// Hit is a drawn point with its place in pixels.
interface Hit {
  series: Series;
  point: Point;
  x: number;
  y: number;
}

const leastWidth = 280;
const axesHeight = 66; // the height above and below the area of a chart with lines, in pixels
const edge = 4; // the least distance between a tip and the edge of the window, in pixels
const beside = 16; // the distance between a tip and its point, in pixels
const reach = 48; // the largest distance between the pointer and the point that it shows, in pixels

export class Plot {
  readonly element: HTMLElement;
  private readonly tip = el("div", { class: "tip", role: "status", hidden: true });
  private readonly reset = button("Zoom out", { class: "zoom-out", hidden: true }, () => this.zoomTo({}));
  private readonly frame = el("div", { class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart" });
  private spec: Spec | undefined;
  private zoom: Zoom = {};
  private width = 0;
  private hits: Hit[] = [];
  private current = -1;
  private canvas: SVGSVGElement | undefined;
  private cursor: SVGGElement | undefined;
  private x: Scale | undefined;
  private y: Scale | undefined;
  private area: Area = { left: 0, top: 0, right: 0, bottom: 0 };
  private dragFrom: [number, number] | undefined;
  private dragged: SVGRectElement | undefined;

  constructor() {
    const drawn = () => (this.canvas && this.spec ? { canvas: this.canvas, spec: this.spec } : undefined);
    this.element = el("div", { class: "chart" }, this.frame, this.tip, this.reset, downloads(drawn));
    this.frame.addEventListener("pointermove", (e) => this.move(e));
    this.frame.addEventListener("pointerdown", (e) => this.press(e));
    this.frame.addEventListener("pointerup", (e) => this.release(e));
    this.frame.addEventListener("pointerleave", () => this.leave());
    this.frame.addEventListener("pointercancel", () => this.leave());
    this.frame.addEventListener("dblclick", () => this.zoomTo({}));
    this.frame.addEventListener("keydown", (e) => this.key(e));
    this.frame.addEventListener("blur", () => this.point(-1));
    new ResizeObserver(() => {
      const width = Math.max(leastWidth, Math.round(this.frame.clientWidth));
      if (this.frame.clientWidth === 0 || width === this.width) return;
      this.width = width;
      this.draw();
    }).observe(this.frame);
  }

  // show draws the spec.
  show(spec: Spec): void {
    if (spec.zoomKey !== this.spec?.zoomKey) this.zoom = {};
    this.spec = spec;
    this.frame.setAttribute("aria-label", spec.label);
    this.draw();
  }

  // drawn gives the points on the chart, as values and as places in pixels, for tests.
  drawn(): unknown {
    return {
      id: this.spec?.id,
      x: this.x?.domain,
      y: this.y?.domain,
      zoomed: this.zoom.x !== undefined || this.zoom.y !== undefined,
      series: (this.spec?.series ?? []).map((s) => ({
        name: s.name,
        points: s.points.map((p) => ({
          x: p.x, y: p.y, low: p.low, high: p.high, from: p.from,
          at: [this.x!.place(p.x), this.y!.place(p.y)],
        })),
      })),
    };
  }

  // emphasize dims all series but one, and shows its band; with undefined, all are shown again.
  emphasize(name: string | undefined): void {
    this.canvas?.querySelectorAll<SVGGElement>("g.series, g.label").forEach((g) => {
      g.classList.toggle("dim", name !== undefined && g.dataset.series !== name);
    });
    this.band(name);
  }

  // band shows the band of one series. Several bands would hide each other.
  private band(name: string | undefined): void {
    this.canvas?.querySelectorAll<SVGGElement>("g.series").forEach((g) => {
      g.classList.toggle("hot", g.dataset.series === name);
    });
  }

  private draw(): void {
    const spec = this.spec;
    if (!spec) return;
    // Read clientWidth only once, because it makes the browser lay out the page. The observer reports later changes.
    if (this.width === 0) this.width = Math.max(leastWidth, Math.round(this.frame.clientWidth) || 900);
    const named = spec.labels && this.width >= leastNamed;
    const height = named ? Math.max(spec.height, heightFor(spec.series.length, axesHeight)) : spec.height;
    // The y axis covers only the points within the zoom of the x axis.
    const inX = (p: Point) => !this.zoom.x || (p.x >= this.zoom.x[0] && p.x <= this.zoom.x[1]);
    const xDomain = this.zoom.x ?? domainOf(spec.x, values(spec.series, "x", () => true));
    const rows = spec.y.kind === "rows";
    const yDomain = this.zoom.y ?? domainOf(spec.y, values(spec.series, "y", rows ? () => true : inX));
    const left = this.leftMargin(spec, yDomain);
    const room = spec.labels ? labelRoom(spec.series, this.width, height - axesHeight) : 0;
    this.area = { left, top: rows ? 8 : 24, right: this.width - 16 - room, bottom: height - 42 };
    const { top, right, bottom } = this.area;
    const x = scaleOf(spec.x.kind, xDomain, [left, right], spec.x.write);
    const y = scaleOf(spec.y.kind, yDomain, rows ? [top, bottom] : [bottom, top], spec.y.write);
    this.x = x;
    this.y = y;

    const clip = `clip-${spec.id}`;
    const many = spec.series.reduce((n, s) => n + s.points.length, 0);
    const at = { x, y, radius: many > 2000 ? 2 : many > 500 ? 2.6 : 3.6 };
    const inside = { x: left, y: top - 6, width: right - left + 8, height: bottom - top + 12 };
    const body = svg("g", { "clip-path": `url(#${clip})`, class: spec.series.length <= 2 ? "bands" : undefined });
    if (spec.rule) body.append(rule(spec.rule.axis === "x" ? x : y, spec.rule, this.area));
    for (const s of spec.series) body.append(marks(s, at));
    this.cursor = svg("g", { class: "cursor" });
    this.canvas = svg("svg", { viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true" },
      svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", inside))),
      xAxis(x.ticks(spec.x.kind === "log" ? 46 : 62), x, spec.x.label, this.area),
      rows ? rowAxis(spec.y.rows ?? [], y, this.area) : yAxis(y.ticks(34), y, spec.y.label, this.area),
      body, room > 0 ? labels(spec.series, x, y, this.area, room) : null, this.cursor);
    fill(this.frame, this.canvas);
    this.reset.hidden = this.zoom.x === undefined && this.zoom.y === undefined;
    this.collect(spec, x, y);
    this.point(-1);
  }

  // collect remembers where the points are, for the pointer and the keys.
  private collect(spec: Spec, x: Scale, y: Scale): void {
    const { left, top, right, bottom } = this.area;
    this.hits = [];
    for (const series of spec.series) {
      for (const point of series.points) {
        const hit = { series, point, x: x.place(point.x), y: y.place(point.y) };
        const inX = hit.x >= left - 1 && hit.x <= right + 1;
        if (inX && hit.y >= top - 7 && hit.y <= bottom + 7) this.hits.push(hit);
      }
    }
  }

  private leftMargin(spec: Spec, domain: [number, number]): number {
    if (spec.y.kind === "rows") {
      const longest = Math.max(0, ...(spec.y.rows ?? []).map((r) => r.length));
      return Math.min(longest * characterWidth + 16, this.width * 0.36);
    }
    const ticks = scaleOf(spec.y.kind, domain, [spec.height - 42, 24], spec.y.write).ticks(34);
    return Math.max(0, ...ticks.map((t) => t.label.length)) * characterWidth + 16;
  }

  // zoomTo shows a part of the chart; the whole for {}.
  private zoomTo(zoom: Zoom): void {
    this.zoom = zoom;
    this.draw();
  }

  private place(e: PointerEvent): [number, number] {
    const box = this.canvas!.getBoundingClientRect();
    const k = this.width / (box.width || 1);
    return [(e.clientX - box.left) * k, (e.clientY - box.top) * k];
  }

  private move(e: PointerEvent): void {
    if (!this.canvas) return;
    const [px, py] = this.place(e);
    if (this.dragFrom) {
      this.drag(px, py);
      return;
    }
    let nearest = -1;
    let best = reach * reach;
    this.hits.forEach((h, i) => {
      const dy = h.y - py;
      // In rows, the distance along y counts most; if the tip shows all series at one x, the distance along x.
      const dx = (h.x - px) * (this.spec!.y.kind === "rows" ? 0.15 : 1);
      const d = dx * dx + dy * dy * (this.spec!.shared ? 0.3 : 1);
      if (d < best) {
        best = d;
        nearest = i;
      }
    });
    this.point(nearest);
  }

  private press(e: PointerEvent): void {
    if (e.button !== 0 || e.pointerType === "touch" || !this.canvas) return;
    this.dragFrom = this.place(e);
    this.frame.setPointerCapture(e.pointerId); // a drag may leave the chart
  }

  private drag(px: number, py: number): void {
    const [fx, fy] = this.dragFrom!;
    const { left, top, right, bottom } = this.area;
    const [wide, high] = this.spanOf(px - fx, py - fy);
    const x0 = wide ? clamp(Math.min(fx, px), left, right) : left;
    const x1 = wide ? clamp(Math.max(fx, px), left, right) : right;
    const y0 = high ? clamp(Math.min(fy, py), top, bottom) : top;
    const y1 = high ? clamp(Math.max(fy, py), top, bottom) : bottom;
    if (!this.dragged) {
      this.dragged = svg("rect", { class: "drag" });
      this.canvas!.append(this.dragged);
    }
    const box = { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
    for (const [name, v] of Object.entries(box)) this.dragged.setAttribute(name, String(v));
    this.dragged.setAttribute("visibility", wide || high ? "visible" : "hidden");
  }

  // spanOf says along which axes a drag is long enough for a zoom.
  private spanOf(dx: number, dy: number): [boolean, boolean] {
    return [Math.abs(dx) > 10, Math.abs(dy) > 24 && this.spec!.y.kind !== "rows"];
  }

  private release(e: PointerEvent): void {
    if (!this.dragFrom || !this.canvas) return;
    const [fx, fy] = this.dragFrom;
    const [px, py] = this.place(e);
    this.dragFrom = undefined;
    this.dragged?.remove();
    this.dragged = undefined;
    const [wide, high] = this.spanOf(px - fx, py - fy);
    if (!wide && !high) {
      this.choose();
      return;
    }
    const { left, top, right, bottom } = this.area;
    const zoom: Zoom = { ...this.zoom };
    if (wide) zoom.x = sorted(this.x!.value(clamp(fx, left, right)), this.x!.value(clamp(px, left, right)));
    if (high) zoom.y = sorted(this.y!.value(clamp(fy, top, bottom)), this.y!.value(clamp(py, top, bottom)));
    this.zoomTo(zoom);
  }

  private leave(): void {
    this.dragFrom = undefined;
    this.dragged?.remove();
    this.dragged = undefined;
    if (document.activeElement !== this.frame) this.point(-1);
  }

  private choose(): void {
    const hit = this.hits[this.current];
    if (hit && this.spec?.pick) this.spec.pick(hit.series, hit.point);
  }

  // point marks a point and shows its tip; -1 for none.
  private point(index: number): void {
    this.current = index;
    const hit = this.hits[index];
    if (!hit || !this.spec || !this.cursor) {
      this.tip.hidden = true;
      if (this.cursor) fill(this.cursor);
      this.band(undefined);
      return;
    }
    this.band(hit.series.name);
    const group = this.spec.shared ? this.besides(hit) : [hit];
    fill(this.cursor, ...group.map((h) =>
      svg("circle", { class: `ring ${h.series.style.colour}`, cx: h.x, cy: h.y, r: h === hit ? 6.5 : 4.5 })));
    fill(this.tip, ...group.map((h) => this.text(h, h === hit)));
    this.tip.hidden = false;
    this.putTip(hit);
  }

  // besides gives the point, and the points of up to 11 other series at the same place of the x axis.
  private besides(hit: Hit): Hit[] {
    const others = this.hits.filter((h) => h !== hit && h.series !== hit.series && Math.abs(h.x - hit.x) < 0.75);
    others.sort((a, b) => a.y - b.y);
    return [hit, ...others.slice(0, 11)];
  }

  private text(hit: Hit, whole: boolean): HTMLElement {
    const lines = this.spec!.tip(hit.series, hit.point);
    const list = el("dl", { class: `${hit.series.style.colour}${whole ? " first" : ""}` });
    list.append(el("dt", { class: "name" }, hit.series.name));
    for (const [key, value] of whole ? lines : lines.slice(0, 1)) list.append(el("dt", {}, key), el("dd", {}, value));
    return list;
  }

  private putTip(hit: Hit): void {
    const chart = this.frame.getBoundingClientRect();
    const k = (chart.width || this.width) / this.width;
    const { width, height } = this.tip.getBoundingClientRect();
    const within = {
      left: edge - chart.left, right: document.documentElement.clientWidth - edge - chart.left,
      top: edge - chart.top, bottom: window.innerHeight - edge - chart.top,
    };
    const [left, top] = placeTip([hit.x * k, hit.y * k], [width, height], within);
    // The page's security policy forbids style attributes, but not the style object.
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step !== undefined) this.along(step);
    else if (e.key === "ArrowDown" || e.key === "ArrowUp") this.across(e.key === "ArrowDown" ? 1 : -1);
    else if (e.key === "+" || e.key === "=") this.zoomBy(0.5);
    else if (e.key === "-") this.zoomBy(2);
    else if (e.key === "Escape") this.zoomTo({});
    else if (e.key === "Enter" || e.key === " ") this.choose();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // along goes to the next point of the same series.
  private along(step: number): void {
    const now = this.hits[this.current];
    if (!now) {
      this.point(this.hits.length > 0 ? 0 : -1);
      return;
    }
    const next = this.hits[this.current + step];
    if (next && next.series === now.series) this.point(this.current + step);
    else if (this.spec!.y.kind === "rows") this.across(step);
  }

  // across goes to the next series, to its point that is nearest on the x axis.
  private across(step: number): void {
    const now = this.hits[this.current];
    if (!now) {
      this.along(1);
      return;
    }
    const all = [...new Set(this.hits.map((h) => h.series))];
    const next = all[(all.indexOf(now.series) + step + all.length) % all.length];
    let best = -1;
    const away = (i: number) => Math.abs(this.hits[i]!.x - now.x);
    this.hits.forEach((h, i) => {
      if (h.series === next && (best < 0 || away(i) < away(best))) best = i;
    });
    this.point(best);
  }

  // zoomBy zooms the x axis around the current point.
  private zoomBy(factor: number): void {
    const { left, right } = this.area;
    const middle = this.hits[this.current]?.x ?? (left + right) / 2;
    const index = this.current;
    const from = this.x!.value(middle - (middle - left) * factor);
    const to = this.x!.value(middle + (right - middle) * factor);
    const whole = domainOf(this.spec!.x, values(this.spec!.series, "x", () => true));
    const zoom: Zoom = { ...this.zoom, x: [Math.max(from, whole[0]), Math.min(to, whole[1])] };
    if (zoom.x![0] <= whole[0] && zoom.x![1] >= whole[1]) delete zoom.x;
    const hit = this.hits[index];
    this.zoomTo(zoom);
    if (hit) this.point(this.hits.findIndex((h) => h.point === hit.point));
  }
}

// Bounds are the edges of the window, in pixels from the corner of the chart.
interface Bounds {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

// placeTip gives the corner of a tip of some size: beside its point where there is more room, or else above or below it,
// and always inside of the window.
export function placeTip(
  [x, y]: [number, number], [width, height]: [number, number], within: Bounds,
): [number, number] {
  const right = within.right - x >= x - within.left;
  const left = clamp(right ? x + beside : x - beside - width, within.left, within.right - width);
  const covers = left < x + beside / 2 && left + width > x - beside / 2;
  const above = y - beside - height;
  const top = !covers ? y - 24 : above >= within.top ? above : y + beside;
  return [left, clamp(top, within.top, within.bottom - height)];
}

// clamp brings a value between two bounds; the lower one counts if they are the wrong way round.
function clamp(v: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, v));
}

function sorted(a: number, b: number): [number, number] {
  return a < b ? [a, b] : [b, a];
}

function domainOf(axis: Axis, found: number[]): [number, number] {
  if (axis.domain) return axis.domain;
  if (axis.kind === "rows") return [-0.5, (axis.rows?.length ?? 1) - 0.5];
  return padded(found, axis.kind, axis.zero, axis.one);
}

// values lists the values of the series on an axis, with the ends of intervals.
function values(series: Series[], axis: "x" | "y", inside: (p: Point) => boolean): number[] {
  const all: number[] = [];
  for (const s of series) {
    const own = (s.along ?? "y") === axis;
    for (const p of s.points) {
      if (!inside(p)) continue;
      all.push(p[axis]);
      if (own && p.low !== undefined && Number.isFinite(p.low)) all.push(p.low);
      if (own && p.high !== undefined && Number.isFinite(p.high)) all.push(p.high);
      if (axis === "x" && p.from !== undefined) all.push(p.from);
    }
  }
  return all;
}
