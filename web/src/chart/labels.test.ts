import { expect, test } from "vitest";
import { heightFor, labelRoom, spread } from "./labels.ts";
import type { Series } from "./spec.ts";
import { styleOf } from "./style.ts";

test("names that would overlap are moved apart; they keep their order and stay inside", () => {
  expect(spread([10, 100, 50], 13, 0, 200)).toEqual([10, 100, 50]);
  expect(spread([10, 11, 12], 13, 0, 200)).toEqual([10, 23, 36]);
  expect(spread([199, 199, 199], 13, 0, 200)).toEqual([174, 187, 200]);
  expect(spread([-50, 500], 13, 0, 200)).toEqual([0, 200]);
  const many = spread(Array.from({ length: 24 }, () => 150), 13, 24, 330);
  for (let i = 1; i < many.length; i++) expect(many[i]! - many[i - 1]!).toBeGreaterThanOrEqual(13 - 1e-9);
  expect(Math.max(...many)).toBeLessThanOrEqual(330);
});

test("a narrow chart and a chart with one line have no names", () => {
  const line = (name: string): Series => ({ name, style: styleOf(0), kind: "line", points: [{ x: 1, y: 1 }] });
  expect(labelRoom([line("a"), line("bbbb")], 900, 300)).toBeGreaterThan(30);
  expect(labelRoom([line("a"), line("b")], 360, 300)).toBe(0);
  expect(labelRoom([line("a")], 900, 300)).toBe(0);
  expect(labelRoom(Array.from({ length: 40 }, (_, i) => line(String(i))), 900, 300)).toBe(0);
});

test("a chart of 25 lines is high enough for their names", () => {
  const lines = Array.from({ length: 25 }, (_, i): Series =>
    ({ name: String(i), style: styleOf(i - 1), kind: "line", points: [{ x: 1, y: 1 }] }));
  expect(labelRoom(lines, 900, heightFor(25, 66) - 66)).toBeGreaterThan(0);
  expect(heightFor(60, 66)).toBe(0);
});
