import { count } from "../format/scale.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
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
      ["trials", a.failed > 0 ? `${count(a.trials)}, ${count(a.failed)} failed` : count(a.trials)],
      ["started", when(d.started)],
      ["ended", when(d.ended)],
      ["seed", d.seed > 0 ? String(d.seed) : ""],
      ["versions", Object.entries(d.versions ?? {}).map(([k, v]) => `${k} ${v}`).join(", ")],
      ["run", a.run],
    ];
    const state = a.state !== "" && a.state !== "complete" ? el("span", { class: `state ${a.state === "running" ? "running" : ""}` }, oneLine(a.state)) : null;
    fill(this.element,
      el("p", { class: "name" }, oneLine(d.name), state),
      el("h1", {}, oneLine(a.question || d.name || "Report")),
      el("p", { class: "verdict", id: "verdict" }, oneLine(a.verdict)),
      el("dl", { class: "meta" }, ...facts.filter(([, v]) => v !== "").map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, oneLine(v))))),
      a.warnings.length > 0 ? el("p", { class: "to-warnings" }, el("a", { href: "#warnings" }, a.warnings.length === 1 ? "1 warning" : `${a.warnings.length} warnings`), ", each also beside the numbers that it concerns") : null);
  }
}

function when(stamp: string): string {
  return stamp === "" ? "" : stamp.replace("T", " ").replace("Z", " UTC");
}
