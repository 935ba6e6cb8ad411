import { markerClass, markerPath, type Style } from "../chart/style.ts";
import { oneLine } from "../format/visible.ts";
import { el, svg } from "../ui/dom.ts";
import type { View } from "./view.ts";

// swatch is a sample of an arm's line and marker.
export function swatch(style: Style): SVGSVGElement {
  const look = { viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" };
  return svg("svg", { class: `swatch ${style.colour}`, ...look },
    svg("path", { class: "line", d: "M1 6H27", "stroke-dasharray": style.dash || undefined }),
    svg("path", { class: markerClass(style), d: markerPath(style.marker, 14, 6, 3.6) }));
}

// armCell is an arm's name with its swatch, the codes of the warnings about its figures, and their protocol, if the
// answer has several.
export function armCell(view: View, arm: string, codes: string[] = [], over = ""): HTMLElement {
  const cell = el("span", { class: "arm" }, swatch(view.style(arm)), oneLine(arm));
  if (arm === view.data.answer.baseline) cell.append(el("span", { class: "mark" }, "baseline"));
  if (over) cell.append(el("span", { class: "mark" }, oneLine(over)));
  for (const code of codes) cell.append(el("span", { class: "mark warn" }, oneLine(code)));
  return cell;
}
