import type { Provider, ProviderAnswer, Topology } from "../data/model.ts";
import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { folded } from "../ui/table.ts";
import { sideTable } from "./sidetable.ts";
import type { View } from "./view.ts";

// groupText names the placement group. It is undefined if the group is not known, and empty for a machine in none.
function groupText(group: string | undefined): string | undefined {
  return group === "" ? "none" : group;
}

// The columns of the table; those without a value are left out.
const columns: [string, (a: ProviderAnswer) => string | undefined][] = [
  ["Deployments", (a) => a.deployments?.join(", ")],
  ["Machine", (a) => [a.cloud, a.instance].filter((v) => v).join(" ")],
  ["Group", (a) => groupText(a.provider.group)],
  ["Strategy", (a) => a.provider.strategy],
  ["State", (a) => a.provider.state],
  ["Colocation of the group", (a) => a.provider.group_colocation],
  ["Colocation of the machine", (a) => a.provider.colocation],
  ["Network nodes, nearest last", (a) => a.provider.network_nodes?.join(" / ")],
  ["Topology", (a) => topologyText(a.provider.topology)],
  ["Physical host", (a) => a.provider.physical_host],
  ["Accelerated networking configured", (a) => acceleratedText(a.provider)],
  ["Not known", (a) => a.provider.problem],
];

// acceleratedText says whether accelerated networking is configured, and for what.
function acceleratedText(p: Provider): string | undefined {
  if (p.accelerated_networking === undefined) return undefined;
  return [p.accelerated_networking ? "on" : "off", p.configured].filter((v) => v).join(" for ");
}

// topologyText lists the parts of a physical topology with their names.
export function topologyText(t: Topology | undefined): string | undefined {
  if (!t) return undefined;
  return ([["cluster", t.cluster], ["block", t.block], ["subblock", t.subblock], ["host", t.host]] as const)
    .filter(([, value]) => value).map(([name, value]) => `${name} ${value}`).join(", ");
}

// providersPart shows what the providers of clouds answered about the hosts, and the commands that asked.
export function providersPart(view: View, all: ProviderAnswer[]): HTMLElement {
  const commands = [...new Set(all.flatMap((a) => a.provider.commands ?? []))];
  const title = "What the providers answered";
  return el("div", { id: "providers" }, el("h3", {}, title),
    el("p", { class: "lead" }, "The providers were asked once for each deployment, before its first trial. A machine "
      + "that a provider moves later is not noticed."),
    sideTable(view, title, columns, all.map((a) => ({ arm: a.arm, side: a.side, of: a }))),
    commands.length > 0 ? folded(`Commands that asked: ${commands.length}`,
      () => el("ul", { class: "notes" }, ...commands.map((c) => el("li", {}, el("code", {}, oneLine(c))))),
      "asked") : null);
}
