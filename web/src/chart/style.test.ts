/// <reference types="vite/client" />
import { expect, test } from "vitest";
import css from "../palette.css?raw";
import { colours, markerPath, styleOf } from "./style.ts";

test("the baseline and 24 arms have different colours", () => {
  const used = new Set<string>();
  for (let n = -1; n < colours; n++) used.add(styleOf(n).colour);
  expect(colours).toBe(24);
  expect(used.size).toBe(25);
});

test("in every colour scheme they have different values", () => {
  const blocks = [...css.matchAll(/\{\s*((?:--c\d+: #[0-9a-f]{6};\s*)+)\}/g)]
    .map((m) => [...m[1]!.matchAll(/--(c\d+): (#[0-9a-f]{6})/g)]);
  expect(blocks.length).toBe(4);
  for (const block of blocks) {
    expect(new Set(block.map((m) => m[1])).size).toBe(25);
    expect(new Set(block.map((m) => m[2])).size).toBe(25);
  }
  for (let n = 0; n <= colours; n++) expect(css).toContain(`.c${n} { --c: var(--c${n}); }`);
});

test("arms with the same marker differ in their line or fill", () => {
  for (let n = 0; n < 7; n++) {
    const same = [styleOf(n), styleOf(n + 7), styleOf(n + 14)].map((s) => `${s.dash} ${s.marker} ${s.solid}`);
    expect(new Set(same).size).toBe(3);
  }
});

test("every marker is a path", () => {
  for (let n = -1; n < 14; n++) expect(markerPath(styleOf(n).marker, 10, 20, 4)).toMatch(/^M[-0-9. ]+/);
});
