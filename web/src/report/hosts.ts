import type { ArmFact } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { folded, table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { showWarnings, type Section } from "./section.ts";
import type { View } from "./view.ts";

// HostsSection lists the facts about the hosts, and those that differ between arms beside their paths.
export class HostsSection implements Section {
  readonly element = el("section", { id: "hosts", "aria-labelledby": "hosts-title" });

  update(view: View): void {
    const d = view.data;
    const warnings = el("ul", { class: "warnings" });
    showWarnings(warnings, view.warningsOf("hosts"));
    const arms = d.arms.map((a, i) => ({ name: a.name, i })).filter((a) => view.shown(a.name));
    const tool = d.hosts.trials.filter((f) => f.workload === view.workload);
    const differs = [...d.hosts.arms.filter((f) => f.differs && !f.own), ...tool.filter((f) => f.differs && !f.own)];
    const built = [...d.hosts.arms, ...tool].filter((f) => f.own);
    const alike = [...d.hosts.arms.filter((f) => !f.differs && !f.own), ...tool.filter((f) => !f.differs && !f.own)];
    const facts = (caption: string, list: ArmFact[]) => table(caption,
      [{ title: "Fact" }, ...arms.map((a) => ({ title: armCell(view, a.name) }))],
      list.map((f) => ({ cells: [oneLine(f.name), ...arms.map((a) => oneLine(f.values[a.i] ?? "") || "-")] })));

    const open = [...this.element.querySelectorAll<HTMLDetailsElement>("details[open]")].map((f) => f.dataset.fold);
    this.element.hidden = d.hosts.arms.length + d.hosts.run.length + d.hosts.trials.length === 0;
    fill(this.element,
      el("header", {}, el("h2", { id: "hosts-title" }, "Hosts")),
      warnings,
      differs.length > 0
        ? el("div", { id: "hosts-differ" },
          el("p", { class: "lead" }, "What differs between the arms beside their paths"
            + `${view.workloadName ? ` (${oneLine(view.workloadName)})` : ""}: an effect of the path, such as a `
            + "smaller MTU, or something that should be the same."),
          facts("Facts that differ between arms", differs))
        : el("p", { class: "lead" }, "No recorded fact differs between the arms beside their paths and addresses."),
      alike.length > 0 ? folded(`Facts that are the same in all arms: ${alike.length}`, () => pairs(
        "Facts that are the same in all arms", alike.map((f) => [f.name, f.values.find((v) => v !== "") ?? ""])),
          "alike")
        : null,
      built.length > 0
        ? folded("Addresses and counters", () => facts("Addresses and counters", built), "built") : null,
      d.hosts.run.length > 0
        ? folded(`The machine: ${d.hosts.run.length} ${d.hosts.run.length === 1 ? "fact" : "facts"}`, () => pairs(
          "Facts of the whole run", d.hosts.run.map((f) => [f.name, f.value])), "machine") : null,
      d.hosts.varying.length > 0
        ? el("p", { class: "lead" }, "These facts differ from trial to trial, and are in the trials' records: "
          + `${d.hosts.varying.map(oneLine).join(", ")}.`) : null,
    );
    for (const f of this.element.querySelectorAll("details")) f.open = open.includes(f.dataset.fold);
  }
}

// pairs is a table of facts that have one value.
function pairs(caption: string, facts: [string, string][]): HTMLElement {
  return table(caption, [{ title: "Fact" }, { title: "Value" }],
    facts.map(([name, value]) => ({ cells: [oneLine(name), oneLine(value)] })));
}
