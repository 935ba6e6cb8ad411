import { percent, signed, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, sameQuantity } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill } from "../ui/dom.ts";
import { table } from "../ui/table.ts";
import type { Section } from "./section.ts";
import { verdictText } from "./values.ts";
import type { View } from "./view.ts";

// Glance is every difference of the run in one table; a row chooses its workload and quantity.
export class Glance implements Section {
  readonly element = el("section", { id: "glance", "aria-labelledby": "glance-title" });

  constructor(private readonly choose: (quantity: number) => void) {}

  update(view: View): void {
    const { comparisons, baseline } = view.data.answer;
    const arms = view.data.arms.map((a) => a.name).filter((a) => a !== baseline && view.shown(a));
    const rows = view.data.quantities.map((q, i) => ({ q, i })).filter((r) => r.q.compared);
    this.element.hidden = rows.length < 2 || comparisons.length === 0;
    if (this.element.hidden) return;
    fill(this.element,
      el("header", {}, el("h2", { id: "glance-title" }, "At a glance")),
      el("p", { class: "lead" }, `Every difference from ${oneLine(baseline)}: relative, and in brackets where none is shown. Choose a row to see it below.`),
      table("Differences of all workloads and quantities", [{ title: "Workload and quantity" }, ...arms.map((a) => ({ title: oneLine(a), numeric: true }))],
        rows.map(({ q, i }) => {
          const workload = view.data.workloads[q.workload]?.name ?? "";
          const pick = button(`${oneLine(workload)}, ${nameOf(q)}`, { class: "link", "aria-current": i === view.quantity ? "true" : undefined }, () => this.choose(i));
          return {
            class: i === view.quantity ? "chosen" : undefined,
            cells: [pick, ...arms.map((arm) => {
              const c = comparisons.find((k) => k.arm === arm && k.workload === workload && sameQuantity(k, q));
              if (!c || c.difference === null) return el("span", { title: c ? verdictText(c) : "" }, "-");
              const unit = unitFor(q.unit, [c.difference]);
              const text = c.relative === null ? withUnit(signed(c.difference, unit), unit) : percent(c.relative);
              const sure = c.verdict === "higher" || c.verdict === "lower";
              const kind = !sure ? "unsure" : c.better === "arm" ? "better" : c.better === "baseline" ? "worse" : "";
              return el("span", { class: kind, title: `${withUnit(signed(c.difference, unit), unit)}: ${verdictText(c)}` }, sure ? text : `(${text})`);
            })],
          };
        })));
  }
}
