import type { Comparison, Resolution } from "../data/model.ts";
import { number, unitFor } from "../format/scale.ts";
import { el, fill } from "../ui/dom.ts";
import { cardTable, numeric } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import { frame, heading, type Section } from "./section.ts";
import type { View } from "./view.ts";

// BlocksSection lists how many blocks find the difference that the user asked about (--resolve).
export class BlocksSection implements Section {
  readonly element = frame("blocks");

  update(view: View): void {
    const q = view.chosen;
    const rows = view.chosenOf(view.data.answer.comparisons).filter((c): c is Comparison & { resolve: Resolution } =>
      c.resolve !== undefined && view.shown(c.arm));
    this.element.hidden = rows.length === 0;
    if (this.element.hidden) return;
    const unit = unitFor(q!.unit, rows.map((c) => c.resolve.difference));
    const known = (n: number | null) => (n === null ? "-" : String(n));
    fill(this.element,
      heading(this.element, "Blocks that find a given difference"),
      el("p", { class: "lead" }, `${view.title}: with this many blocks, a true difference of this size is found four `
        + "times in five, if further blocks vary as much as the blocks of this run."),
      cardTable(`${view.title}: blocks that find a given difference${unit.name ? " in " + unit.name : ""}`,
        ["Arm", numeric("Difference"), numeric("Blocks"), numeric("Blocks to add")],
        rows.map((c) => ({
          cells: [
            armCell(view, c.arm), number(c.resolve.difference, unit), known(c.resolve.blocks),
            known(c.resolve.blocks_needed),
          ],
        }))));
  }
}
