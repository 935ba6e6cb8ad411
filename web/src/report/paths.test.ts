import { expect, test } from "vitest";
import { layout, wires } from "../chart/path.ts";
import type { Arm } from "../data/model.ts";
import { boxesOf } from "./paths.ts";

const arm = (name: string, ...kinds: string[]): Arm => ({
  name, path: "", layers: {}, elements: kinds.map((k) => ({ kind: k.split(" ")[0]!,
    with: k.split(" ").slice(1).join(" ") })),
});

test("elements that a path has more or less than the baseline's are marked", () => {
  const base = arm("near", "bridge", "firewall 100");
  const states = (a: Arm) => boxesOf(a, base).map((b) => `${b.state} ${b.kind}`);
  expect(states(base)).toEqual(["end client", "same bridge", "same firewall", "end server"]);
  expect(states(arm("far", "bridge", "router", "firewall 1000"))).toEqual(
    ["end client", "same bridge", "gone firewall", "added router", "added firewall", "end server"]);
});

test("a path that is wider than the page continues in the next line", () => {
  const boxes = boxesOf(arm("x", ...Array.from({ length: 8 }, () => "router")), undefined);
  const wide = layout(boxes, 2000);
  expect(new Set(wide.placed.map((b) => b.y)).size).toBe(1);
  const narrow = layout(boxes, 330);
  expect(new Set(narrow.placed.map((b) => b.y)).size).toBeGreaterThan(2);
  for (const b of narrow.placed) expect(b.x + b.width).toBeLessThanOrEqual(330);
  expect(narrow.height).toBeGreaterThan(wide.height);
  expect(wires(narrow.placed).split("M").length - 1).toBe(boxes.length - 1);
});
