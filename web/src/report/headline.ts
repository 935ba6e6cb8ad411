import type { Data, Figure, Finding } from "../data/model.ts";
import { nameOf } from "../data/model.ts";
import { colourOf } from "../data/verdict.ts";
import { number, percent, signed, unitFor, withUnit, type Unit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { where } from "./findings.ts";
import { bounds, signedBounds } from "./values.ts";

// figurePart is the figure of the headline, large: of the finding that it tells, or of a run's only arm. There is none
// if the headline is not sure of a difference: a large figure would be read as one.
export function figurePart(d: Data): HTMLElement | null {
  if (d.lead !== undefined) {
    const f = d.answer.findings?.[d.lead]; // answers of older versions have none
    const claimed = f?.headline_level !== undefined;
    return f && claimed && f.difference !== null ? ofFinding(f, f.difference) : null;
  }
  const alone = d.answer.arms[0];
  const told = !d.kind && d.answer.comparisons.length === 0 && !d.answer.noise_floor && !d.answer.failing;
  return alone && told ? ofArm(alone) : null;
}

function ofFinding(f: Finding, difference: number): HTMLElement {
  const unit: Unit = f.kind === "failures" ? { factor: 0.01, name: "points" } : unitFor(f.unit, [difference]);
  // The headline chose this difference, so its interval is wider than that of the table.
  const interval = f.headline_interval ?? f.interval;
  const relative = f.relative === null || f.kind === "failures" ? "" : `, ${percent(f.relative)}`;
  const range = (interval ? signedBounds(interval, unit) : "no interval") + relative;
  const of = `${f.kind === "layer" ? "layer " : ""}${oneLine(f.name)} in ${where(f)}`;
  return part(colourOf(f), withUnit(signed(difference, unit), unit), range, of);
}

function ofArm(f: Figure): HTMLElement {
  const unit = unitFor(f.unit, [f.median]);
  return part("sure", withUnit(number(f.median, unit), unit),
    f.interval ? bounds(f.interval, unit) : "no interval", `${oneLine(f.arm)} in ${oneLine(f.workload)}, ${nameOf(f)}`);
}

function part(kind: string, figure: string, range: string, of: string): HTMLElement {
  return el("div", { id: "figure", class: kind },
    el("strong", { class: `number ${kind}` }, figure),
    el("span", { class: "range" }, range),
    el("span", { class: "small of" }, of));
}
