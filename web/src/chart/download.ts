import { button, el, svg } from "../ui/dom.ts";
import type { Axis, Spec } from "./spec.ts";

// A chart as a file: the picture as it is shown, or its values.

// The style properties that are copied into the elements, because the file has no style sheet.
const properties = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "visibility",
];
const heading = 30; // the height of the title above the chart, in pixels

// svgText is the drawn chart as an SVG file, with a title.
export function svgText(canvas: SVGSVGElement, title: string): string {
  const copy = canvas.cloneNode(true) as SVGSVGElement;
  const from = [...canvas.querySelectorAll<SVGElement>("*")];
  const to = [...copy.querySelectorAll<SVGElement>("*")];
  from.forEach((element, i) => {
    if (element.closest("defs")) return;
    const look = getComputedStyle(element);
    for (const name of properties) {
      const value = look.getPropertyValue(name);
      if (value !== "") to[i]!.setAttribute(name, value);
    }
    to[i]!.removeAttribute("class");
  });
  const { width, height } = canvas.viewBox.baseVal;
  const page = getComputedStyle(document.body);
  copy.removeAttribute("aria-hidden");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 ${-heading} ${width} ${height + heading}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height + heading));
  copy.prepend(
    svg("title", {}, title),
    svg("rect", { x: 0, y: -heading, width, height: height + heading, fill: page.backgroundColor }),
    svg("text", {
      x: 2, y: 16 - heading, fill: page.color, "font-family": page.fontFamily, "font-size": 14, "font-weight": 600,
    }, title));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

// csvText writes the values of the chart in base units, a line for each point.
export function csvText(spec: Spec): string {
  const title = (axis: Axis) => axis.quantity ?? axis.label;
  const value = (axis: Axis, v: number) => (axis.kind === "rows" ? (axis.rows?.[v] ?? "") : v);
  const some = (key: "from" | "low" | "high") => spec.series.some((s) => s.points.some((p) => p[key] !== undefined));
  const along = spec.series[0]?.along ?? "y";
  const of = title(along === "x" ? spec.x : spec.y);
  const extra = (["from", "low", "high"] as const).filter(some);
  const lines: (string | number)[][] = [
    ["series", title(spec.x), title(spec.y), ...extra.map((key) => `${key} of ${of}`)],
  ];
  for (const s of spec.series) {
    for (const p of s.points) {
      lines.push([s.name, value(spec.x, p.x), value(spec.y, p.y), ...extra.map((key) => p[key] ?? "")]);
    }
  }
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

// cell writes a value for a CSV file (RFC 4180). Text that a spreadsheet would take for a formula begins with an
// apostrophe.
function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// fileName makes the name of a chart's file from letters, digits and dashes.
export function fileName(page: string, chart: string, kind: string): string {
  const plain = (s: string) => s.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${[plain(page), plain(chart)].filter((s) => s !== "").join("-")}.${kind}`;
}

// Drawn is a chart as it is shown.
export interface Drawn {
  canvas: SVGSVGElement;
  spec: Spec;
}

// downloads makes the two buttons. `drawn` gives the chart as it is shown when a button is pressed.
export function downloads(drawn: () => Drawn | undefined): HTMLElement {
  const one = (label: string, kind: string, type: string, make: (c: Drawn) => string) =>
    button(label, { class: "download", "data-kind": kind, "aria-label": `Download this chart as ${label}` }, () => {
      const now = drawn();
      if (now) save(make(now), fileName(document.title.replace(/ - nearfar$/, ""), now.spec.id, kind), type);
    });
  return el("div", { class: "downloads" },
    one("SVG", "svg", "image/svg+xml", (c) => svgText(c.canvas, c.spec.label)),
    one("CSV", "csv", "text/csv", (c) => csvText(c.spec)));
}

// save saves text as a file. This needs no server.
function save(text: string, name: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser may not have read it yet
}
