import { number, percent, signed, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, sameQuantity, type Comparison, type RunQuantity } from "../data/model.ts";
import { kindName, kindOf, mood, type Judged } from "../data/verdict.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { mini, miniScale, type Mini } from "../ui/mini.ts";
import { table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import type { Section } from "./section.ts";
import { verdictText } from "./values.ts";
import type { View } from "./view.ts";

// Glance is every difference of the run in one table; a row chooses its workload and quantity.
export class Glance implements Section {
  readonly element = el("section", { id: "glance", "aria-labelledby": "glance-title" });

  constructor(private readonly choose: (quantity: number) => void) {}

  update(view: View): void {
    const { comparisons, baseline } = view.data.answer;
    const arms = view.data.arms.map((a) => a.name).filter((a) => view.shown(a) && comparisons.some((c) => c.arm === a));
    const rows = view.data.quantities.map((q, i) => ({ q, i })).filter((r) => r.q.compared);
    // Of one arm the findings have every row already.
    this.element.hidden = rows.length < 2 || arms.length === 0 || new Set(comparisons.map((c) => c.arm)).size === 1;
    if (this.element.hidden) return;
    fill(this.element,
      el("header", {}, el("h2", { id: "glance-title" }, "At a glance")),
      el("p", { class: "lead" }, `Every difference from ${oneLine(baseline)}: relative, absolute, and where its 95 % interval lies. Each row has a scale of its own, with a line at zero. Choose a row to see it below.`),
      table("Differences of all workloads and quantities", [{ title: "Workload and quantity" }, ...arms.map((a) => ({ title: armCell(view, a), numeric: true }))],
        rows.map(({ q, i }) => this.row(view, q, i, arms))));
  }

  private row(view: View, q: RunQuantity, i: number, arms: string[]) {
    const workload = view.data.workloads[q.workload]?.name ?? "";
    const own = arms.map((arm) => view.data.answer.comparisons.find((k) => k.arm === arm && k.workload === workload && sameQuantity(k, q)));
    const unit = unitFor(q.unit, own.map((c) => c?.difference ?? 0));
    const scale = miniScale(own.flatMap((c) => (c && c.difference !== null ? [miniOf(c)] : [])));
    const pick = button(`${oneLine(workload)}, ${nameOf(q)}`, { class: "link", "aria-current": i === view.quantity ? "true" : undefined }, () => this.choose(i));
    return {
      class: i === view.quantity ? "chosen" : undefined,
      cells: [pick, ...own.map((c): Child => {
        if (!c) return "-";
        const absolute = c.difference === null ? "" : withUnit(signed(c.difference, unit), unit);
        const kind = kindOf(c);
        const seen = c.relative === null ? absolute : percent(c.relative);
        const small = kind === "found" ? (c.relative === null ? "" : absolute)
          : kind === "none" ? (c.detectable === null ? "" : `detectable: ${withUnit(number(c.detectable, unit), unit)}`)
            : kind === "too-few" && seen ? `as measured: ${seen}` : "";
        return el("div", { class: `cell ${kind}`, title: `${absolute ? absolute + ": " : ""}${verdictText(c)}` },
          el("span", { class: `main ${mood(c)}` }, kind === "found" ? seen : kindName(c)),
          small ? el("span", { class: "small" }, small) : null,
          c.difference === null ? null : mini(miniOf(c), scale));
      })],
    };
  }
}

// miniOf is a comparison as a small interval, in the unit of the quantity.
export function miniOf(c: Comparison): Mini {
  return { value: c.difference ?? 0, interval: c.interval, kind: mood(c) };
}

// legend says what the kinds of nothing mean that there are.
export function legend(all: Judged[]): HTMLElement | null {
  const kinds = new Set(all.map(kindOf));
  const entries: [string, string][] = [];
  if (kinds.has("none")) entries.push(["no difference seen", "none is shown; a true difference of the detectable size would have been seen four times in five"]);
  if (kinds.has("too-few")) entries.push(["too few", "there are figures, and too few of them to show a difference of any size, or to rule one out"]);
  if (kinds.has("refused")) entries.push(["not comparable", "the two do not measure the same thing, or one side has nothing"]);
  if (entries.length === 0) return null;
  return el("dl", { class: "kinds" }, ...entries.map(([name, means]) => el("div", {}, el("dt", {}, name), el("dd", {}, means))));
}
