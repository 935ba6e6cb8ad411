import type { Answer, Data, Environment } from "../data/model.ts";
import { count } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, fill } from "../ui/dom.ts";
import { tone } from "./checks.ts";
import { figurePart } from "./headline.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// Head is the top of the page: the question, the verdict as one figure and in words, and facts about the run.
export class Head implements Section {
  readonly element = el("header", { class: "head" });

  update(view: View): void {
    const a = view.data.answer;
    const d = view.data;
    document.title = `${oneLine(d.name || a.question || "report")} - nearfar`;
    const open = (selector: string) => this.element.querySelector<HTMLDetailsElement>(selector)?.open ?? false;
    const state = a.state !== "" && a.state !== "complete"
      ? el("span", { class: `state ${a.state === "running" ? "running" : ""}` }, oneLine(a.state)) : null;
    fill(this.element,
      a.unverified ? el("p", { class: "unproved", id: "unverified" }, oneLine(a.unverified)) : null,
      el("p", { class: "name" }, d.kind === "gate" ? "gate" : d.kind === "compare" ? "comparison" : oneLine(d.name),
        state,
        d.gate ? el("span", { class: `outcome ${tone(d.gate.verdict)}` }, oneLine(d.gate.verdict)) : null),
      el("h1", {}, oneLine(a.question || d.name || "Report")),
      d.gate?.headline ? el("p", { class: "verdict", id: "gate-headline" }, oneLine(d.gate.headline)) : null,
      d.gate ? el("p", { class: d.gate.headline ? "" : "verdict", id: "gate" }, oneLine(d.gate.summary)) : null,
      el("div", { class: "headline" }, figurePart(d), inWords(a, isFolded(a, d.gate !== undefined), open(".words"))),
      // The verdict says it too, but can be folded.
      a.unproved && !a.unverified && (isFolded(a, d.gate !== undefined) || !a.verdict.includes(a.unproved))
        ? el("p", { class: "unproved", id: "unproved" }, oneLine(a.unproved)) : null,
      el("dl", { class: "meta" }, ...factsOf(d).filter(([, v]) => v !== "").map(([k, v]) =>
        el("div", {}, el("dt", {}, k), el("dd", {}, oneLine(v))))),
      lab(a.ground, open(".lab details")),
      a.warnings.length > 0 ? toWarnings(a.warnings.length) : null);
  }
}

// factsOf lists facts about the run; those without a value are not shown.
function factsOf(d: Data): [string, string][] {
  const a = d.answer;
  return [
    ["baseline", a.baseline],
    ["blocks", a.blocks > 0 ? String(a.blocks) : ""],
    ["trials", trialsText(a)],
    // For recorded results, these are the times of the import, not of the measurement.
    ["started", a.imported ? "" : when(d.started)],
    ["ended", a.imported ? "" : when(d.ended)],
    ["results", a.imported ? "recorded elsewhere" : ""],
    ["seed", d.seed > 0 ? String(d.seed) : ""],
    ["versions", Object.entries(d.versions ?? {}).map(([k, v]) => `${k} ${v}`).join(", ")],
    ["run", a.run],
  ];
}

function trialsText(a: Answer): string {
  if (a.failed === 0) return count(a.trials);
  return `${count(a.trials)}, ${count(a.failed)} failed${a.replaced ? `, ${count(a.replaced)} of them replaced` : ""}`;
}

function toWarnings(n: number): HTMLElement {
  const link = button(n === 1 ? "1 warning" : `${n} warnings`, { class: "link" },
    () => document.getElementById("warnings")?.scrollIntoView({ block: "start" }));
  return el("p", { class: "to-warnings" }, link, ", each also beside the numbers that it concerns");
}

// long is the number of characters from which on a verdict is folded if there are rows: in answers of older versions
// the verdict lists all differences.
const long = 600;

// isFolded says whether the verdict is folded: if it is long, and on a gate's page, because the gate has a verdict of
// its own.
function isFolded(a: Answer, gated: boolean): boolean {
  return a.comparisons.length > 0 && (gated || partsOf(a).length === 1 && a.verdict.length > long);
}

// partsOf gives the parts of the answer in words. An answer of an older version has one.
function partsOf(a: Answer): string[] {
  const parts = [a.headline ?? "", a.basis ?? "", a.also ?? ""].filter((text) => text !== "");
  return parts.join(" ") === a.verdict ? parts : [a.verdict];
}

// inWords shows the answer in words: its first line large, then what that rests on, then what else was found.
function inWords(a: Answer, folded: boolean, open: boolean): HTMLElement {
  const sentence = el("div", { id: "verdict" }, ...partsOf(a).flatMap((text, i) =>
    [i > 0 ? " " : "", el("p", { class: i === 0 ? "verdict" : "more" }, oneLine(text))]));
  if (!folded) return sentence;
  return el("details", { class: "words", "data-fold": "words", open }, el("summary", {}, "The verdict in words"),
    sentence);
}

// labText describes the machine of a lab in one line.
export function labText(l: Environment): string {
  const cpus = `${l.cpus} ${l.cpus === 1 ? "CPU" : "CPUs"}${l.cpu ? ` (${l.cpu})` : ""}`;
  const tcp = l.congestion ? `TCP ${l.congestion} by default` : "";
  const parts = [`Linux ${l.kernel}`, cpus, tcp, l.wire ? `wires: ${l.wire}` : ""];
  return oneLine(`A lab on one machine: ${parts.filter((p) => p !== "").join(", ")}`);
}

// lab describes the lab, and lists what a lab cannot tell.
function lab(l: Environment | undefined, open: boolean): HTMLElement | null {
  if (!l) return null;
  const limits = l.limits ?? [];
  return el("div", { class: "lab" }, el("p", {}, l.text ? oneLine(l.text) : labText(l)),
    limits.length > 0 ? el("details", { "data-fold": "limits", open },
      el("summary", {}, l.kernel ? "What a lab cannot tell" : "What one machine cannot tell"),
      el("ul", { class: "notes" }, ...limits.map((limit) => el("li", {}, oneLine(limit))))) : null);
}

function when(stamp: string): string {
  return stamp === "" ? "" : stamp.replace("T", " ").replace("Z", " UTC");
}
