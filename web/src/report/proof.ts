import type { ArmPlaces, ArmProof, Differing, Place } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { button, el, type Child } from "../ui/dom.ts";
import { cardTable, folded, refill } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { expectationText, outcomeMark } from "./outcome.ts";
import { providersPart } from "./providers.ts";
import { sideCell, sideTable } from "./sidetable.ts";
import { frame, heading, warningList, type Section } from "./section.ts";
import type { View } from "./view.ts";

// ProofSection says whether the arms were what they claim: their expectations with the evidence, where client and
// server were, what the providers answered about them, and what else differs between the hosts.
export class ProofSection implements Section {
  readonly element = frame("proof");

  // pick is called with the number of the trial that the reader chooses.
  constructor(private readonly pick: (trial: number) => void) {}

  update(view: View): void {
    const { proof = [], places = [], provider_answers: answers = [], differs = [], baseline } = view.data.answer;
    const warnings = view.warningsOf("proof");
    this.element.hidden = proof.length + places.length + answers.length + differs.length + warnings.length === 0;
    if (this.element.hidden) return;
    // What an expectation says is not repeated as a warning.
    const others = warnings.filter((w) => !w.code.startsWith("expectation-") || proof.length === 0);
    refill(this.element,
      heading(this.element, "Is it what it claims"), warningList(others),
      this.proofs(view, proof.filter((p) => view.shown(p.arm))),
      places.length > 0 ? placesPart(view, places) : null,
      answers.length > 0 ? providersPart(view, answers.filter((a) => view.shown(a.arm))) : null,
      differs.length > 0 ? differsPart(view, differs.filter((d) => view.shown(d.arm)), baseline) : null);
  }

  private proofs(view: View, all: ArmProof[]): Child {
    if (all.length === 0) return null;
    return el("div", { id: "expectations" },
      el("p", { class: "lead" }, "What the file expects of each arm, judged in each trial. Proved: the facts and "
        + "counters of the hosts show it. Refuted: they show the opposite. Unknown: evidence is missing."),
      el("ul", { class: "proofs" }, ...all.map((p) => el("li", { "data-arm": p.arm },
        el("div", { class: "of" }, armCell(view, p.arm), outcomeMark(p.outcome), trialsNote(p)),
        el("ul", { class: "expectations" }, ...p.expectations.map((e) => el("li", {},
          el("p", { class: "claim" }, outcomeMark(e.outcome), el("code", {}, expectationText(e)),
            el("span", { class: "note" }, counts(e))),
          e.evidence ? el("p", { class: "evidence" }, oneLine(e.evidence)) : null,
          this.notProved(e.not_proved ?? [], e.refuted + e.unknown))))))));
  }

  // notProved lists the trials in which an expectation was not proved. A click opens the trial's record.
  private notProved(trials: number[], all: number): Child {
    if (trials.length === 0) return null;
    const line = el("p", { class: "note" }, "Not proved in ");
    trials.forEach((t, i) => line.append(i > 0 ? ", " : "", button(`trial ${t}`, { class: "link" },
      () => this.pick(t))));
    if (all > trials.length) line.append(` and ${all - trials.length} more`);
    return line;
  }
}

function trialsNote(p: ArmProof): Child {
  const trials = p.trials === 1 ? "1 trial" : `${p.trials} trials`;
  return el("span", { class: "note" }, p.dropped ? `${trials}, ${p.dropped} of them not compared` : trials);
}

// counts says in how many trials an expectation had which outcome.
function counts(e: { proved: number; refuted: number; unknown: number }): string {
  const all = e.proved + e.refuted + e.unknown;
  if (all === 0) return "no trial";
  const parts = (["refuted", "unknown", "proved"] as const).filter((k) => e[k] > 0).map((k) => `${k} in ${e[k]}`);
  return `${parts.join(", ")} of ${all}`;
}

// The columns of the table of places; those without a value are left out.
const columns: [string, (p: Place) => string | undefined][] = [
  ["Name", (p) => p.host],
  ["Node", (p) => p.node],
  ["Zone", (p) => p.where && (p.where.zone_id ? `${p.where.zone ?? ""} (${p.where.zone_id})`.trim() : p.where.zone)],
  ["Instance type", (p) => p.where?.instance_type],
  ["Group", (p) => p.where?.placement_group],
  ["Topology", (p) => p.where?.topology && Object.values(p.where.topology).filter((v) => v).join(" / ")],
  ["Kernel", (p) => p.kernel],
  ["CPU", (p) => p.model],
  ["Device", (p) => (p.driver ? `${p.device ?? ""} (${p.driver})`.trim() : p.device)],
  ["Instance", (p) => p.where?.instance_id],
  ["Problem", (p) => p.where?.problem],
];

// The columns that name a machine: they differ also between machines that are alike.
const names = ["Name", "Node", "Instance"];

// alike says whether the clients of several arms are alike but for their names, and the servers too.
export function alike(all: ArmPlaces[]): boolean {
  const kinds = columns.filter(([title]) => !names.includes(title));
  const differ = (side: "client" | "server") => new Set(all.flatMap((a) =>
    (a[side] ?? []).map((of) => JSON.stringify(kinds.map(([, value]) => value(of) ?? ""))))).size > 1;
  return all.length > 1 && !differ("client") && !differ("server");
}

// placesPart is folded if it tells nothing apart.
function placesPart(view: View, all: ArmPlaces[]): HTMLElement {
  const shown = all.filter((p) => view.shown(p.arm));
  const rows = () => sideTable(view, "Where client and server were observed", columns,
    shown.flatMap((a) => (["client", "server"] as const).flatMap((side) =>
      (a[side] ?? []).map((of) => ({ arm: a.arm, side, of })))));
  return el("div", { id: "places" }, ...(alike(all)
    ? [folded("Where client and server were: on machines that are alike in all arms", rows, "places")]
    : [el("h3", {}, "Where client and server were"), rows()]));
}

function differsPart(view: View, all: Differing[], baseline: string): HTMLElement {
  const undeclared = all.filter((d) => !d.declared);
  const declared = all.filter((d) => d.declared);
  const alone = undeclared.some((d) => d.matters)
    ? " Marked facts are known to change figures: each alone could explain a difference." : "";
  return el("div", { id: "what-differs" }, el("h3", {}, "What else differs"),
    el("p", { class: "lead" }, undeclared.length > 0
      ? `Facts in which the hosts differ from those of ${oneLine(baseline)}, and which the file does not declare to `
        + `differ.${alone}`
      : `No fact of the hosts differs from those of ${oneLine(baseline)}, except for what the file declares.`),
    undeclared.length > 0 ? differsTable(view, "What else differs", undeclared) : null,
    declared.length > 0 ? folded(`Differences that the file declares: ${declared.length}`,
      () => differsTable(view, "Differences that the file declares", declared), "declared") : null);
}

function differsTable(view: View, caption: string, all: Differing[]): HTMLElement {
  return cardTable(caption, ["Arm", "Host", "Fact", "Baseline", "Here"],
    all.map((d) => ({
      cells: [
        armCell(view, d.arm), sideCell(d.side),
        el("span", { title: oneLine(d.fact) }, oneLine(d.name || d.fact),
          d.matters && !d.declared ? el("span", { class: "mark warn" }, "changes figures") : null),
        oneLine(d.baseline), oneLine(d.value),
      ],
    })));
}
