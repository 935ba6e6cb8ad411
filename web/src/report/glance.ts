import { number, percent, signed, unitFor, withUnit } from "../format/scale.ts";
import { nameOf, sameQuantity, type Comparison, type RunQuantity } from "../data/model.ts";
import { kindName, kindOf, colourOf, type Judged } from "../data/verdict.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill, type Child } from "../ui/dom.ts";
import { mini, miniScale, type Mini } from "../ui/mini.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import { verdictText } from "./values.ts";
import type { View } from "./view.ts";

// Glance shows all differences of the run in one table. A click on a row chooses its workload and quantity.
export class Glance implements Section {
  readonly element = frame("glance");

  constructor(private readonly choose: (quantity: number) => void) {}

  update(view: View): void {
    const { comparisons, baseline } = view.data.answer;
    const compared = new Set(comparisons.map((c) => c.arm));
    const arms = view.data.arms.map((a) => a.name).filter((a) => view.shown(a) && compared.has(a));
    const rows = view.data.quantities.map((q, i) => ({ q, i })).filter((r) => r.q.compared);
    // If there is only one arm, the findings have all rows already.
    this.element.hidden = rows.length < 2 || arms.length === 0 || compared.size === 1;
    if (this.element.hidden) return;
    fill(this.element,
      heading(this.element, "At a glance"),
      el("p", { class: "lead" }, `Every difference from ${oneLine(baseline)}: relative, absolute, and a picture of its `
        + "95 % interval. Each row has its own scale, with a line at zero. Choose a row to see it below."),
      cardTable("Differences of all workloads and quantities",
        ["Workload and quantity", ...arms.map((a) => numeric(armCell(view, a)))],
        rows.map(({ q, i }) => this.row(view, q, i, arms))));
  }

  private row(view: View, q: RunQuantity, i: number, arms: string[]) {
    const workload = view.data.workloads[q.workload]?.name ?? "";
    const own = arms.map((arm) => view.data.answer.comparisons.find((k) =>
      k.arm === arm && k.workload === workload && sameQuantity(k, q)));
    const unit = unitFor(q.unit, own.map((c) => c?.difference ?? 0));
    const scale = miniScale(own.flatMap((c) => (c && c.difference !== null ? [miniOf(c)] : [])));
    const current = i === view.quantity ? "true" : undefined;
    const pick = button(`${oneLine(workload)}, ${nameOf(q)}`, { class: "link", "aria-current": current },
      () => this.choose(i));
    return {
      class: i === view.quantity ? "chosen" : undefined,
      cells: [pick, ...own.map((c): Child => {
        if (!c) return "-";
        const absolute = c.difference === null ? "" : withUnit(signed(c.difference, unit), unit);
        const kind = kindOf(c);
        const seen = c.relative === null ? absolute : percent(c.relative);
        const small = {
          found: c.relative === null ? "" : absolute,
          none: c.detectable === null ? "" : `detectable: ${withUnit(number(c.detectable, unit), unit)}`,
          "too-few": seen && `as measured: ${seen}`,
          refused: "",
        }[kind];
        return el("div", { class: `cell ${kind}`, title: `${absolute ? absolute + ": " : ""}${verdictText(c)}` },
          el("span", { class: `main ${colourOf(c)}` }, kind === "found" && seen ? seen : kindName(c)),
          small ? el("span", { class: "small" }, small) : null,
          c.over ? el("span", { class: "small" }, oneLine(c.over)) : null,
          c.but ? el("span", { class: "small caution" }, oneLine(`but ${c.but}`)) : null,
          c.unproved ? el("span", { class: "small caution" }, "unproved") : null,
          c.difference === null ? null : mini(miniOf(c), scale));
      })],
    };
  }
}

// miniOf gives the small picture of a comparison, in the unit of the quantity.
export function miniOf(c: Comparison): Mini {
  return { value: c.difference ?? 0, interval: c.interval, kind: colourOf(c) };
}

// legend explains the verdicts that show no difference, as far as they occur.
export function legend(all: Judged[]): HTMLElement | null {
  const kinds = new Set(all.map(kindOf));
  const entries: [string, string][] = [];
  if (kinds.has("none")) {
    const means = "a true difference of the detectable size would have been seen four times in five";
    entries.push(["no difference seen", means]);
  }
  if (kinds.has("too-few")) {
    entries.push(["too few", "too little was measured to show a difference of any size, or to rule one out"]);
  }
  if (kinds.has("refused")) {
    entries.push(["not comparable", "the two do not measure the same thing, or one side has no figures"]);
  }
  if (entries.length === 0) return null;
  return el("dl", { class: "kinds" }, ...entries.map(([name, means]) => el("div", {}, el("dt", {}, name),
    el("dd", {}, means))));
}
