import type { Check, GateVerdict, Objective, ObjectiveVerdict, Quantity } from "../data/model.ts";
import { nameOf } from "../data/model.ts";
import { number, signed, unitFor, withUnit, type Unit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill, svg } from "../ui/dom.ts";
import { rangePath } from "../ui/mini.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { bounds, signedBounds } from "./values.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// Checks lists the rules of a gate, or the objectives of the experiment file: the bound and the measured value of each.
export class Checks implements Section {
  readonly element = frame("checks");

  update(view: View): void {
    const { gate, answer } = view.data;
    const checks = gate?.checks ?? answer.objectives ?? [];
    this.element.hidden = checks.length === 0;
    if (this.element.hidden) return;
    const reasons = checks.some((c) => why(c) !== "");
    fill(this.element,
      heading(this.element, gate ? "Checks of the gate" : "Objectives"),
      el("p", { class: "lead" }, gate
        ? "A check fails if its whole interval is on the wrong side of the bound, and passes if its whole interval is "
          + "on the right side. The line in the picture is the bound; the shaded side fails."
        : "The objectives of the experiment file. An objective is met or missed if its whole interval is on one side "
          + "of the bound. The line in the picture is the bound; on the shaded side the objective is missed."),
      cardTable(gate ? "Checks" : "Objectives",
        ["Verdict", "Rule", "Arm", "Workload and quantity", numeric("Estimate"), numeric("Interval"),
          numeric("Bound"), "Picture", ...(reasons ? ["Why"] : [])],
        checks.map((c) => row(c, reasons))));
  }
}

// why says why there is no verdict, and that an arm is not proved to be what it claims.
function why(c: Check | Objective): string {
  return [c.reason, c.unproved].filter((text) => text).map((text) => oneLine(text!)).join("; ");
}

function row(c: Check | Objective, reasons: boolean) {
  const unit = unitOf(c);
  const write = c.kind === "value" ? number : signed;
  return {
    class: tone(c.verdict),
    cells: [
      el("span", { class: `outcome ${tone(c.verdict)}` }, oneLine(c.verdict)), el("code", {}, oneLine(c.rule)),
      oneLine(c.arm), `${oneLine(c.workload)}, ${nameOf(c)}`,
      c.estimate === null ? "-" : withUnit(write(c.estimate, unit), unit),
      c.kind === "value" ? bounds(c.interval, unit) : signedBounds(c.interval, unit),
      `${c.fails_above ? "at most" : "at least"} ${withUnit(write(c.bound, unit), unit)}`,
      c.estimate === null ? "" : picture(c), ...(reasons ? [why(c)] : []),
    ],
  };
}

// unitOf picks the unit for a check's figures.
export function unitOf(c: Quantity & { kind: string; bound: number; estimate: number | null }): Unit {
  if (c.metric === "failures" && c.kind === "change") return { factor: 0.01, name: "points" };
  if (c.kind === "relative" || c.metric === "failures") return { factor: 0.01, name: "%" };
  return unitFor(c.unit, [c.bound, c.estimate ?? 0]);
}

// tone chooses the colour of a verdict.
export function tone(verdict: GateVerdict | ObjectiveVerdict): string {
  if (verdict === "pass" || verdict === "met") return "better";
  if (verdict === "fail" || verdict === "missed" || verdict === "error") return "worse";
  return "unsure";
}

const width = 120;
const height = 16;

// picture draws the interval and the bound. The table has the same as numbers.
function picture(c: Check | Objective): SVGSVGElement {
  const all = [c.bound, c.estimate!, ...(c.interval ?? [])].filter(Number.isFinite);
  const low = Math.min(...all);
  const high = Math.max(...all);
  const room = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
  const edge = (v: number) => Math.min(high + room, Math.max(low - room, v)); // for an interval without a bound
  const place = (v: number) => Math.round(10 * (((edge(v) - low + room) / (high - low + 2 * room)) * width)) / 10;
  const at = place(c.bound);
  const middle = height / 2;
  return svg("svg", { class: `mini ${tone(c.verdict)}`, viewBox: `0 0 ${width} ${height}`, width, height,
    "aria-hidden": "true" },
    svg("rect", { class: "beyond", x: c.fails_above ? at : 0, y: 0, width: c.fails_above ? width - at : at, height }),
    svg("path", { class: "bound", d: `M${at} 0V${height}` }),
    c.interval ? svg("path", { class: "range", d: rangePath(place(c.interval[0]), place(c.interval[1]), middle) })
      : null,
    svg("circle", { class: "value", cx: place(c.estimate!), cy: middle, r: 3 }));
}
