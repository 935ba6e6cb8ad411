import { sameQuantity, type Answer, type Comparison, type Finding } from "./model.ts";
import { kindName, kindOf, moreNeeded } from "./verdict.ts";

// The findings of an answer stay in the answer's order: the page does not rank them.

// How many rows are shown; the others are folded. If nothing differs, at most mostUnsure of them have too few blocks,
// because such rows say little.
const most = 12;
const mostUnsure = 4;

// Row is a finding, or a comparison of an answer that has no findings.
export type Row = Omit<Finding, "rank" | "headline_p_value" | "text">;

// Findings are the rows that are shown, and those that are folded.
export interface Findings {
  shown: Row[];
  folded: Row[];
}

// findings shows the sure differences. If there are none, it shows the others, with at most mostUnsure rows that have
// too few blocks.
export function findings(answer: Answer): Findings {
  const all = listed(answer);
  const sure = all.filter((f) => kindOf(f) === "found");
  let unsure = 0;
  const others = all.filter((f) => kindOf(f) !== "too-few" || ++unsure <= mostUnsure);
  const shown = new Set((sure.length > 0 ? sure : others).slice(0, most));
  return { shown: [...shown], folded: all.filter((f) => !shown.has(f)) };
}

// listed gives the answer's findings, or its comparisons if it has no findings. Failures have a section of their own.
function listed(answer: Answer): Row[] {
  if (answer.findings && answer.findings.length > 0) return answer.findings.filter((f) => f.kind !== "failures");
  return answer.comparisons.map((c) => ({ ...c, kind: "arm", name: c.arm }));
}

// comparisonOf gives the comparison of a finding; undefined for a layer.
export function comparisonOf(answer: Answer, f: Row): Comparison | undefined {
  if (f.kind !== "arm") return undefined;
  return answer.comparisons.find((c) => c.arm === f.name && c.baseline === f.baseline && c.workload === f.workload
    && (c.baseline_workload ?? "") === (f.baseline_workload ?? "") && sameQuantity(c, f));
}

// needed says how much more must be measured, or why there is too little; empty if that is not known.
export function needed(answer: Answer, f: Row): string {
  const c = comparisonOf(answer, f);
  const more = c ? moreNeeded(c) : "";
  return more ? `it takes ${more}` : (f.reason ?? "");
}

// counted writes the number of findings of each kind: "1 sure, 21 too few blocks, 6 no difference seen".
export function counted(all: Row[]): string {
  const counts = new Map<string, number>();
  for (const f of all) {
    const name = kindOf(f) === "found" ? "sure" : kindName(f);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, n]) => `${n} ${name}`).join(", ");
}
