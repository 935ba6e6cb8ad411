import { findings } from "../data/findings.ts";
import { nameOf, sameQuantity, type Comparison } from "../data/model.ts";
import { kindName, kindOf, moreNeeded, mood } from "../data/verdict.ts";
import { number, percent, signed, unitFor, withUnit } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { mini, miniScale, type Mini } from "../ui/mini.ts";
import { folded, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { legend } from "./glance.ts";
import { signedBounds } from "./values.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// How many rows are shown before the others are folded.
const most = 12;

// FindingsSection says the verdict in rows, the strongest difference first.
export class FindingsSection implements Section {
  readonly element = el("section", { id: "findings", "aria-labelledby": "findings-title" });
  private drawn: unknown;

  // choose is called with the quantity whose row is chosen.
  constructor(private readonly choose: (quantity: number) => void) {}

  update(view: View): void {
    if (this.drawn === view.data) return; // nothing that is chosen changes it
    this.drawn = view.data;
    const { lead, rest } = findings(view.data.answer);
    this.element.hidden = lead.length === 0;
    if (this.element.hidden) return;
    const shown = lead.slice(0, most);
    const others = [...lead.slice(most), ...rest];
    fill(this.element,
      el("header", {}, el("h2", { id: "findings-title" }, "Findings")),
      el("p", { class: "lead" }, leadText(view, lead)),
      this.rows(view, "Findings, the strongest difference first", shown),
      others.length > 0 ? folded(`All others: ${others.length}`, () => this.rows(view, "The other findings, the strongest difference first", others), "others") : null,
      legend(view.data.answer.comparisons));
  }

  private rows(view: View, caption: string, rows: Comparison[]): HTMLElement {
    const relative = rows.every((c) => c.difference === null || c.relative !== null);
    const small = (c: Comparison): Mini => (relative
      ? { value: c.relative ?? 0, interval: c.relative_interval, kind: mood(c) }
      : { value: c.difference ?? 0, interval: c.interval, kind: mood(c) });
    // One quantity shares a scale; figures of several units can only share the relative one.
    const shared = relative || new Set(rows.map((c) => c.unit)).size === 1;
    const scale = miniScale(rows.filter((c) => c.difference !== null).map(small));
    const several = new Set(rows.map((c) => `${c.workload}\u0000${nameOf(c)}`)).size > 1;
    return table(caption,
      [{ title: "Arm" }, ...(several ? [{ title: "Workload and quantity" }] : []), { title: "Difference", numeric: true }, { title: "95 % interval", numeric: true },
        { title: "Relative", numeric: true }, { title: relative ? "Relative, with its interval" : "Interval" }, { title: "Finding" }],
      rows.map((c) => {
        const unit = unitFor(c.unit, [c.difference ?? 0]);
        return {
          class: mood(c),
          cells: [
            armCell(view, c.arm), ...(several ? [this.pick(view, c)] : []),
            c.difference === null ? "-" : el("strong", { class: mood(c) }, withUnit(signed(c.difference, unit), unit)),
            signedBounds(c.interval, unit),
            c.relative === null ? "-" : el("span", { class: mood(c) }, percent(c.relative)),
            c.difference === null ? "" : mini(small(c), shared ? scale : miniScale([small(c)])),
            finding(c),
          ],
        };
      }));
  }

  // pick is the name of a row's figures, which shows them below.
  private pick(view: View, c: Comparison): Child {
    const name = `${oneLine(c.workload)}, ${nameOf(c)}`;
    const q = view.data.quantities.findIndex((k) => sameQuantity(k, c) && view.data.workloads[k.workload]?.name === c.workload);
    return q < 0 ? name : button(name, { class: "link" }, () => this.choose(q));
  }
}

function leadText(view: View, lead: Comparison[]): string {
  const quantities = [...new Set(lead.map((c) => `${oneLine(c.workload)}, ${nameOf(c)}`))];
  const arms = new Set(lead.map((c) => c.arm));
  const of = quantities.length === 1 ? ` in ${quantities[0]}` : arms.size === 1 ? `: ${oneLine(lead[0]!.arm)} against ${oneLine(lead[0]!.baseline)}` : "";
  return `${quantities.length === 1 ? `Against ${oneLine(view.data.answer.baseline)}` : "Differences"}${of}. The strongest is first: the one whose interval lies furthest from zero, relative to the baseline.`;
}

// finding says what the row shows, and what it would take where it shows nothing.
function finding(c: Comparison): Child {
  const unit = unitFor(c.unit, [c.detectable ?? 0]);
  const more = moreNeeded(c);
  const text = {
    found: "",
    none: c.detectable === null ? "" : `detectable: ${withUnit(number(c.detectable, unit), unit)}`,
    "too-few": more && `it takes ${more}`,
    refused: c.reason ? oneLine(c.reason) : "",
  }[kindOf(c)];
  return el("span", {}, el("span", { class: `finding ${mood(c)}` }, kindName(c)), text ? el("span", { class: "small" }, `: ${text}`) : null);
}
