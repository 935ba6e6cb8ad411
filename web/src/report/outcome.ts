import type { Expectation, Judgement, Outcome } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";

// signs stand before the outcomes' words, so that outcomes can be told apart without colour.
const signs: Record<string, string> = { proved: "\u2713", refuted: "\u2717", unknown: "?" };

// outcomeMark writes an outcome with its sign.
export function outcomeMark(outcome: Outcome): HTMLElement {
  const known = Object.hasOwn(signs, outcome) ? outcome : "unknown";
  return el("span", { class: `judged ${known}` }, el("span", { class: "sign", "aria-hidden": "true" }, signs[known]),
    known);
}

// worst gives the worst of several outcomes: refuted, then unknown. It is empty without outcomes.
export function worst(outcomes: Outcome[]): Outcome | "" {
  if (outcomes.length === 0) return "";
  if (outcomes.includes("refuted")) return "refuted";
  return outcomes.every((o) => o === "proved") ? "proved" : "unknown";
}

// expectationText writes an expectation as reports do: "same-zone", "same-zone false", "mtu 9000", "fact kernel 6.8".
export function expectationText(e: Expectation): string {
  const subject = e.path ? `${e.name} ${e.path}` : e.name;
  return oneLine(e.value === true ? subject : `${subject} ${String(e.value)}`);
}

// judgements lists the expectations of a trial with their evidence.
export function judgements(all: Judgement[]): HTMLElement {
  return el("ul", { class: "expectations" }, ...all.map((j) => el("li", {},
    el("p", { class: "claim" }, outcomeMark(j.outcome), el("code", {}, expectationText(j))),
    j.evidence ? el("p", { class: "evidence" }, oneLine(j.evidence)) : null)));
}
