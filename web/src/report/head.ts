import type { Ground } from "../data/model.ts";
import { count } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill } from "../ui/dom.ts";
import { tone } from "./checks.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// Head opens the page: the question, and the verdict in words.
export class Head implements Section {
  readonly element = el("header", { class: "head" });

  update(view: View): void {
    const a = view.data.answer;
    const d = view.data;
    document.title = `${oneLine(d.name || a.question || "report")} - nearfar`;
    const facts: [string, string][] = [
      ["baseline", a.baseline],
      ["blocks", a.blocks > 0 ? String(a.blocks) : ""],
      ["trials", a.failed > 0 ? `${count(a.trials)}, ${count(a.failed)} failed${a.replaced ? `, ${count(a.replaced)} of them replaced` : ""}` : count(a.trials)],
      // When results were brought in says nothing of when they were measured.
      ["started", a.imported ? "" : when(d.started)],
      ["ended", a.imported ? "" : when(d.ended)],
      ["results", a.imported ? "recorded elsewhere" : ""],
      ["seed", d.seed > 0 ? String(d.seed) : ""],
      ["versions", Object.entries(d.versions ?? {}).map(([k, v]) => `${k} ${v}`).join(", ")],
      ["run", a.run],
    ];
    const state = a.state !== "" && a.state !== "complete" ? el("span", { class: `state ${a.state === "running" ? "running" : ""}` }, oneLine(a.state)) : null;
    fill(this.element,
      el("p", { class: "name" }, d.kind === "gate" ? "gate" : d.kind === "compare" ? "comparison" : oneLine(d.name), state,
        d.gate ? el("span", { class: `outcome ${tone(d.gate.verdict)}` }, oneLine(d.gate.verdict)) : null),
      el("h1", {}, oneLine(a.question || d.name || "Report")),
      d.gate ? el("p", { class: "verdict", id: "gate" }, oneLine(d.gate.summary)) : null,
      inWords(oneLine(a.verdict), a.comparisons.length > 0, d.gate !== undefined, this.element.querySelector<HTMLDetailsElement>(".words")?.open ?? false),
      el("dl", { class: "meta" }, ...facts.filter(([, v]) => v !== "").map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, oneLine(v))))),
      ground(a.ground, this.element.querySelector<HTMLDetailsElement>(".ground details")?.open ?? false),
      a.warnings.length > 0 ? el("p", { class: "to-warnings" }, button(a.warnings.length === 1 ? "1 warning" : `${a.warnings.length} warnings`, { class: "link" }, () => document.getElementById("warnings")?.scrollIntoView({ block: "start" })), ", each also beside the numbers that it concerns") : null);
  }
}

// long is from how many characters on a verdict is folded where rows say the same: older answers say all differences in it.
const long = 600;

// inWords is the verdict as a sentence. A gate's page has a verdict of its own.
function inWords(verdict: string, rows: boolean, gated: boolean, open: boolean): HTMLElement {
  const sentence = el("p", { class: "verdict", id: "verdict" }, verdict);
  if (!rows || (verdict.length <= long && !gated)) return sentence;
  return el("details", { class: "words", "data-fold": "words", open }, el("summary", {}, "The verdict in words"), sentence);
}

// groundText is what a run in a lab stood on, in a line.
export function groundText(g: Ground): string {
  const cpus = `${g.cpus} ${g.cpus === 1 ? "CPU" : "CPUs"}${g.cpu ? ` (${g.cpu})` : ""}`;
  const parts = [`Linux ${g.kernel}`, cpus, g.congestion ? `TCP ${g.congestion} by default` : "", g.wire ? `wires: ${g.wire}` : ""];
  return oneLine(`A lab on one machine: ${parts.filter((p) => p !== "").join(", ")}`);
}

// ground is that line, with what a lab cannot tell below it.
function ground(g: Ground | undefined, open: boolean): HTMLElement | null {
  if (!g) return null;
  const limits = g.limits ?? [];
  return el("div", { class: "ground" }, el("p", {}, groundText(g)),
    limits.length > 0 ? el("details", { "data-fold": "limits", open }, el("summary", {}, "What a lab cannot tell"),
      el("ul", { class: "notes" }, ...limits.map((l) => el("li", {}, oneLine(l))))) : null);
}

function when(stamp: string): string {
  return stamp === "" ? "" : stamp.replace("T", " ").replace("Z", " UTC");
}
