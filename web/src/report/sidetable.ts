import { oneLine } from "../format/visible.ts";
import { el } from "../ui/dom.ts";
import { cardTable } from "../ui/table.ts";
import { armCell } from "./armcell.ts";
import type { View } from "./view.ts";

// SideRow is about one side of an arm.
export interface SideRow<T> {
  arm: string;
  side: string;
  of: T;
}

// sideTable is a table of sides of arms. Columns without a value are left out.
export function sideTable<T>(view: View, caption: string, columns: [string, (of: T) => string | undefined][],
  rows: SideRow<T>[]): HTMLElement {
  const shown = columns.filter(([, value]) => rows.some((r) => value(r.of)));
  return cardTable(caption, ["Arm", "Host", ...shown.map(([title]) => title)],
    rows.map((r) => ({
      cells: [armCell(view, r.arm), sideCell(r.side), ...shown.map(([, value]) => oneLine(value(r.of) ?? "") || "-")],
    })));
}

// sideCell names a side.
export function sideCell(side: string): HTMLElement {
  return el("span", { class: "side" }, oneLine(side));
}
