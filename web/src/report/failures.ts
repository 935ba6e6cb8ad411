import type { FailureComparison, FailureShare } from "../data/model.ts";
import { probability } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import { bounds } from "./values.ts";
import type { View } from "./view.ts";

// FailuresSection says how often the arms failed, if any did: it comes before what the other trials say.
export class FailuresSection implements Section {
  readonly element = frame("failures");
  private drawn: unknown;

  update(view: View): void {
    if (this.drawn === view.data) return; // the reader's choices do not change the failures
    this.drawn = view.data;
    const { arms = [], comparisons = [] } = view.data.answer.failures ?? {};
    const failing = new Set(arms.filter((f) => f.failed > 0).map((f) => f.workload));
    this.element.hidden = failing.size === 0;
    if (this.element.hidden) return;
    const base = view.data.answer.sources?.[0]?.side;
    const against = (f: FailureShare) => (f.side !== undefined && f.side === base ? undefined
      : comparisons.find((c) => c.arm === f.arm && c.workload === f.workload));
    fill(this.element,
      heading(this.element, "Failed attempts"),
      el("p", { class: "lead" }, "An attempt is the first execution of a trial; replacements of failed ones do not "
        + "count. The interval is exact, and p is from an exact test. In medians and differences, a failed attempt "
        + "counts as worse than all others."),
      cardTable("Failed attempts of each arm",
        ["Arm", "Workload", numeric("Failed"), numeric("Of"), numeric("Share"), numeric("95 % interval"),
          numeric("p (Holm)"), "Verdict", "The first failed because"],
        arms.filter((f) => failing.has(f.workload)).map((f) => row(view, f, against(f)))));
  }
}

function row(view: View, f: FailureShare, c: FailureComparison | undefined) {
  return {
    class: c?.better === "baseline" ? "worse" : c?.better === "arm" ? "better" : "unsure",
    cells: [
      f.side ? oneLine(`${f.side}: ${f.arm}`) : armCell(view, f.arm), oneLine(f.workload), String(f.failed),
      String(f.attempts), share(f.share), bounds(f.interval, { factor: 1, name: "" }, share),
      c ? probability(c.p_value) : "-", c ? verdict(c) : "", oneLine(f.reason ?? ""),
    ],
  };
}

function verdict(c: FailureComparison): string {
  if (c.better === "baseline") return "fails more often (worse)";
  return c.better === "arm" ? "fails less often (better)" : "none seen";
}

// share writes a share of attempts.
function share(v: number): string {
  return `${(100 * v).toFixed(1)} %`;
}
