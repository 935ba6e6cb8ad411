import type { ArmFact } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el, fill } from "../ui/dom.ts";
import { folded, table } from "../ui/table.ts";
import { armCell, swatch } from "./armcell.ts";
import { showWarnings, type Section } from "./section.ts";
import type { View } from "./view.ts";

// HostsSection says what the hosts were, and what differs between arms beyond the treatment.
export class HostsSection implements Section {
  readonly element = el("section", { id: "hosts", "aria-labelledby": "hosts-title" });

  update(view: View): void {
    const d = view.data;
    const warnings = el("ul", { class: "warnings" });
    showWarnings(warnings, view.warningsOf("hosts"));
    const arms = d.arms.map((a, i) => ({ name: a.name, i })).filter((a) => view.shown(a.name));
    const tool = d.hosts.trials.filter((f) => f.workload === view.workload);
    const differs = [...d.hosts.arms.filter((f) => f.differs && !f.own), ...tool.filter((f) => f.differs)];
    const built = d.hosts.arms.filter((f) => f.own);
    const alike = [...d.hosts.arms.filter((f) => !f.differs && !f.own), ...tool.filter((f) => !f.differs)];
    const facts = (caption: string, list: ArmFact[]) => table(caption,
      [{ title: "Fact" }, ...arms.map((a) => ({ title: oneLine(a.name) }))],
      list.map((f) => ({ cells: [oneLine(f.name), ...arms.map((a) => oneLine(f.values[a.i] ?? "") || "-")] })));

    fill(this.element,
      el("header", {}, el("h2", { id: "hosts-title" }, "Hosts")),
      warnings,
      table("Arms, and what a packet crosses in each", [{ title: "Arm" }, { title: "Path" }, { title: "Layers" }, ...(d.arms.some((a) => a.set) ? [{ title: "Sets" }] : [])],
        arms.map((a) => {
          const arm = d.arms[a.i]!;
          const layers = Object.entries(arm.layers ?? {}).map(([name, n]) => (n === 1 ? oneLine(name) : `${n} \u00d7 ${oneLine(name)}`)).join(", ");
          const set = d.arms.some((other) => other.set) ? [oneLine(arm.set ?? "") || "nothing"] : [];
          return { cells: [armCell(view, a.name), oneLine(arm.path) || "not known", layers || "none", ...set] };
        })),
      differs.length > 0
        ? el("div", { id: "hosts-differ" },
          el("p", { class: "lead" }, `What differs between the arms beside their paths${view.workloadName ? ` (${oneLine(view.workloadName)})` : ""}: an effect of the path, such as a smaller MTU, or something that should be alike.`),
          facts("Facts that differ between arms", differs))
        : el("p", { class: "lead" }, "No recorded fact differs between the arms beside their paths and addresses."),
      alike.length > 0 ? folded(`Facts that are the same in all arms: ${alike.length}`, () =>
        table("Facts that are the same in all arms", [{ title: "Fact" }, { title: "Value" }], alike.map((f) => ({ cells: [oneLine(f.name), oneLine(f.values.find((v) => v !== "") ?? "")] })))) : null,
      built.length > 0 ? folded("Addresses, and what crossed each element", () => facts("Addresses and counters", built)) : null,
      d.hosts.run.length > 0 ? folded(`The machine: ${d.hosts.run.length} ${d.hosts.run.length === 1 ? "fact" : "facts"}`, () =>
        table("Facts of the whole run", [{ title: "Fact" }, { title: "Value" }], d.hosts.run.map((f) => ({ cells: [oneLine(f.name), oneLine(f.value)] })))) : null,
      d.hosts.varying.length > 0 ? el("p", { class: "lead" }, `Different from trial to trial, and in the trials' records: ${d.hosts.varying.map(oneLine).join(", ")}.`) : null,
    );
  }
}

// Commands are the exact command lines of the chosen workload.
export class CommandsSection implements Section {
  readonly element = el("section", { id: "commands", "aria-labelledby": "commands-title" });

  update(view: View): void {
    const own = view.data.commands.filter((c) => c.workload === view.workload && view.shown(view.armName(c.arm)));
    this.element.hidden = own.length === 0;
    const workload = view.data.workloads[view.workload];
    fill(this.element,
      el("header", {}, el("h2", { id: "commands-title" }, "Command lines")),
      el("p", { class: "lead" }, `${oneLine(view.workloadName)}: ${oneLine(workload?.description ?? "")}. Server first, then the client; those of a background follow.`),
      ...own.map((c) => {
        const arm = view.armName(c.arm);
        const block = el("div", { class: "command" }, el("h3", {}, swatch(view.style(arm)), oneLine(arm)));
        for (const line of c.lines) block.append(el("pre", {}, el("code", {}, oneLine(line))));
        if (c.variants > 1) block.append(el("p", { class: "note" }, `The trials of this arm had ${c.variants} different sets of lines: this is the first, and each trial's record has its own.`));
        return block;
      }));
  }
}
