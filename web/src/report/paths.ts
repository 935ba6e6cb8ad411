import { boxHeight, layout, wires, type Box, type Placed } from "../chart/path.ts";
import { diff } from "../data/diff.ts";
import { settingsOf, type Arm, type PathElement } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, svg } from "../ui/dom.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// boxesOf gives the boxes of an arm's path, from the client to the server, compared with the baseline's path.
export function boxesOf(arm: Arm, baseline: Arm | undefined): Box[] {
  const text = (e: PathElement) => ({ kind: oneLine(e.kind), with: oneLine(e.with) });
  const end = (kind: string): Box => ({ kind, with: "", state: "end" });
  const same = (a: PathElement, b: PathElement) => a.kind === b.kind && a.with === b.with;
  const inner = baseline && baseline !== arm
    ? diff(baseline.elements, arm.elements, same).map((s): Box => ({ ...text(s.value), state: s.kind }))
    : arm.elements.map((e): Box => ({ ...text(e), state: "same" }));
  return [end("client"), ...inner, end("server")];
}

// Paths draws the network path of each arm, and marks how it differs from the baseline's.
export class Paths implements Section {
  readonly element = frame("paths");
  private view: View | undefined;
  private width = 0;

  constructor() {
    new ResizeObserver(() => {
      const width = this.room();
      if (width === 0 || width === this.width || !this.view) return;
      this.update(this.view);
    }).observe(this.element);
  }

  update(view: View): void {
    this.view = view;
    const arms = view.data.arms.filter((a) => view.shown(a.name));
    const paths = view.data.arms.some((a) => a.elements.length > 0);
    const shown = paths || view.data.arms.some((a) => a.path !== "" || settingsOf(a).length > 0);
    this.element.hidden = !shown;
    if (!shown) return;
    this.width = this.room() || 900;
    const baseline = view.data.arms.find((a) => a.name === view.data.answer.baseline);
    const several = view.data.arms.length > 1 && baseline !== undefined;
    fill(this.element,
      heading(this.element, "Paths"),
      el("p", { class: "lead" }, (paths ? "The network elements between the client and the server in each arm."
        : "Client and server of each arm. The network between them is not nearfar's.")
        + (several && paths
          ? ` Filled: not in the path of ${oneLine(baseline.name)}. Dashed: only in that path.` : "")),
      el("ul", { class: "paths" }, ...arms.map((arm) => this.row(view, arm, several ? baseline : undefined))));
  }

  // room is the width of a picture in pixels. On a wide page, the arms' names are beside the pictures.
  private room(): number {
    const look = getComputedStyle(this.element);
    const inner = this.element.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const names = matchMedia("(min-width: 60rem)").matches ? 16 * rem : 0;
    return Math.max(0, Math.round(inner - names));
  }

  private row(view: View, arm: Arm, baseline: Arm | undefined): HTMLElement {
    const counted = (name: string, n: number) => (n === 1 ? oneLine(name) : `${n} \u00d7 ${oneLine(name)}`);
    const layers = Object.entries(arm.layers ?? {}).map(([name, n]) => counted(name, n)).join(", ");
    const settings = settingsOf(arm).map((s) => el("li", { class: "setting" }, oneLine(s)));
    const label = `Settings of ${oneLine(arm.name)}`;
    return el("li", { "data-arm": arm.name },
      el("div", { class: "of" }, armCell(view, arm.name),
        settings.length > 0 ? el("ul", { class: "settings", "aria-label": label }, ...settings) : null,
        layers ? el("span", { class: "note" }, `layers: ${layers}`) : null),
      arm.elements.length > 0 ? picture(boxesOf(arm, baseline), this.width)
        : arm.path ? el("p", { class: "hosts" }, oneLine(arm.path)) : null);
  }
}

// boxText describes a box in words.
function boxText(b: Box): string {
  const name = b.kind + (b.with ? ` (${b.with})` : "");
  if (b.state === "added") return `${name}, not in the baseline`;
  return b.state === "gone" ? `${name}, only in the baseline` : name;
}

// picture draws the boxes, with a description in words for screen readers.
function picture(boxes: Box[], width: number): SVGSVGElement {
  const { placed, height } = layout(boxes, width);
  const label = boxes.map(boxText).join("; ");
  const text = (b: Placed, name: string, y: number, content: string) =>
    svg("text", { class: name, x: b.x + b.width / 2, y: b.y + y, "text-anchor": "middle" }, content);
  return svg("svg", { class: "path", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": label },
    svg("path", { class: "wires", d: wires(placed) }),
    ...placed.map((b) => svg("g", { class: `box ${b.state}` },
      svg("rect", { x: b.x, y: b.y, width: b.width, height: boxHeight, rx: b.state === "end" ? boxHeight / 2 : 5 }),
      text(b, "kind", b.with ? 15 : 21.5, b.kind), b.with ? text(b, "with", 27.5, b.with) : null)));
}
