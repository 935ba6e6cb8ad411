import { counted, findings, needed, type Row } from "../data/findings.ts";
import { nameOf, sameQuantity } from "../data/model.ts";
import { kindName, kindOf, colourOf } from "../data/verdict.ts";
import { number, percent, signed, unitFor, withUnit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { mini, miniScale, type Mini } from "../ui/mini.ts";
import { cardTable, folded, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { legend } from "./glance.ts";
import { signedBounds } from "./values.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// FindingsSection shows the verdict as rows, in the order of the answer's findings.
export class FindingsSection implements Section {
  readonly element = frame("findings");
  private drawn: unknown;

  // choose is called with the quantity of a row, and with the section to scroll to, if any.
  constructor(private readonly choose: (quantity: number, section?: string) => void) {}

  update(view: View): void {
    if (this.drawn === view.data) return; // the reader's choices do not change the findings
    this.drawn = view.data;
    const { shown, folded: others } = findings(view.data.answer);
    this.element.hidden = shown.length === 0;
    if (this.element.hidden) return;
    fill(this.element,
      heading(this.element, "Findings"),
      el("p", { class: "lead" }, leadText(view, shown)),
      this.rows(view, "Findings, in the order of the verdict", shown),
      others.length > 0
        ? folded(`All others: ${others.length} (${counted(others)})`,
          () => this.rows(view, "The other findings", others), "others") : null,
      legend([...shown, ...others]));
  }

  private rows(view: View, caption: string, rows: Row[]): HTMLElement {
    // The picture is relative if all rows have what that needs. A layer has no relative interval.
    const relative = rows.every((f) => f.difference === null
      || (f.relative !== null && (f.relative_interval !== null || f.interval === null)));
    const small = (f: Row): Mini => (relative
      ? { value: f.relative ?? 0, interval: f.relative_interval, kind: colourOf(f) }
      : { value: f.difference ?? 0, interval: f.interval, kind: colourOf(f) });
    // One quantity shares a scale; figures of several units can only share the relative one.
    const shared = relative || new Set(rows.map((f) => f.unit)).size === 1;
    const scale = miniScale(rows.filter((f) => f.difference !== null).map(small));
    const layers = rows.some((f) => f.kind === "layer");
    const linked = layers || new Set(rows.map(where)).size > 1;
    return cardTable(caption,
      [layers ? "Layer or arm" : "Arm", ...(linked ? ["Workload and quantity"] : []), numeric("Difference"),
        numeric("95 % interval"), numeric("Relative"), relative ? "Relative, with its interval" : "Interval",
        "Finding"],
      rows.map((f) => {
        const unit = unitFor(f.unit, [f.difference ?? 0]);
        return {
          class: colourOf(f),
          cells: [
            nameCell(view, f), ...(linked ? [this.pick(view, f)] : []),
            f.difference === null ? "-"
              : el("strong", { class: colourOf(f) }, withUnit(signed(f.difference, unit), unit)),
            f.difference === null && f.interval === null ? "-" : signedBounds(f.interval, unit),
            f.relative === null ? "-" : el("span", { class: colourOf(f) }, percent(f.relative)),
            f.difference === null ? "" : mini(small(f), shared ? scale : miniScale([small(f)])),
            finding(view, f),
          ],
        };
      }));
  }

  // pick names the workload and quantity of a row. A click on it chooses them; for a layer, the page also scrolls to
  // the section of the layers.
  private pick(view: View, f: Row): Child {
    const q = view.data.quantities.findIndex((k) =>
      sameQuantity(k, f) && view.data.workloads[k.workload]?.name === f.workload);
    if (q < 0) return where(f);
    return button(where(f), { class: "link" }, () => this.choose(q, f.kind === "layer" ? "layers" : undefined));
  }
}

function nameCell(view: View, f: Row): Child {
  return f.kind === "layer" ? el("span", { class: "arm" }, `layer ${oneLine(f.name)}`) : armCell(view, f.name);
}

// where names the workload and the quantity, and the baseline's workload if it is not the same.
export function where(f: Row): string {
  const workload = f.baseline_workload ? `${f.workload} against ${f.baseline_workload}` : f.workload;
  return `${oneLine(workload)}, ${nameOf(f)}${f.over ? ` over ${oneLine(f.over)}` : ""}`;
}

function leadText(view: View, shown: Row[]): string {
  const places = new Set(shown.map(where));
  const of = `Against ${oneLine(view.data.answer.baseline)}${places.size === 1 ? ` in ${[...places][0]}` : ""}. `;
  if (kindOf(shown[0]!) !== "found") return `${of}There is no sure difference.`;
  const layers = shown[0]!.kind === "layer" ? "Layers come before arms. " : "";
  return `${of}${layers}Workloads are in the order of their questions, then of the run. In one quantity the strongest `
    + "finding is first: its interval is furthest from zero, relative to the baseline.";
}

// finding writes the verdict of a row, with the detectable size or how much more must be measured, and the caution.
function finding(view: View, f: Row): Child {
  const unit = unitFor(f.unit, [f.detectable ?? 0]);
  const text = {
    found: f.difference === null ? oneLine(f.reason ?? "") : "",
    none: f.detectable === null ? "" : `detectable: ${withUnit(number(f.detectable, unit), unit)}`,
    "too-few": oneLine(needed(view.data.answer, f)),
    refused: oneLine(f.reason ?? ""),
  }[kindOf(f)];
  return el("span", {}, el("span", { class: `finding ${colourOf(f)}` }, kindName(f)),
    text ? el("span", { class: "small" }, `: ${text}`) : null,
    f.but ? el("span", { class: "small caution" }, `: but ${oneLine(f.but)}`) : null,
    f.unproved ? el("span", { class: "small caution" }, ` ${oneLine(f.unproved)}.`) : null,
    f.caution ? el("span", { class: "small caution" }, ` Caution: ${oneLine(f.caution)}`) : null);
}
