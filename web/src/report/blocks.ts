import { sameQuantity, type Comparison, type Resolution } from "../data/model.ts";
import { number, unitFor } from "../format/scale.ts";
import { el, fill } from "../ui/dom.ts";
import { table } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import type { Section } from "./section.ts";
import type { View } from "./view.ts";

// BlocksSection lists how many blocks find the difference that the user asked about (--resolve).
export class BlocksSection implements Section {
  readonly element = el("section", { id: "blocks", "aria-labelledby": "blocks-title", hidden: true });

  update(view: View): void {
    const q = view.chosen;
    const rows = view.data.answer.comparisons.filter((c): c is Comparison & { resolve: Resolution } =>
      c.resolve !== undefined && q !== undefined && c.workload === view.workloadName && sameQuantity(c, q)
        && view.shown(c.arm));
    this.element.hidden = rows.length === 0;
    if (this.element.hidden) return;
    const unit = unitFor(q!.unit, rows.map((c) => c.resolve.difference));
    const known = (n: number | null) => (n === null ? "-" : String(n));
    fill(this.element,
      el("header", {}, el("h2", { id: "blocks-title" }, "Blocks that find a given difference")),
      el("p", { class: "lead" }, `${view.title}: with this many blocks, a true difference of this size is found four `
        + "times in five, if further blocks vary as much as the blocks of this run."),
      table(`${view.title}: blocks that find a given difference${unit.name ? " in " + unit.name : ""}`,
        [{ title: "Arm" }, { title: "Difference", numeric: true }, { title: "Blocks", numeric: true },
          { title: "Blocks to add", numeric: true }],
        rows.map((c) => ({
          cells: [
            armCell(view, c.arm), number(c.resolve.difference, unit), known(c.resolve.blocks),
            known(c.resolve.blocks_needed),
          ],
        }))));
  }
}
