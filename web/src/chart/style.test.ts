import { expect, test } from "vitest";
import { markerPath, styleOf } from "./style.ts";

test("the baseline and 20 arms all look different, also without colour among those of one colour", () => {
  const looks = new Set<string>();
  for (let n = -1; n < 20; n++) {
    const s = styleOf(n);
    looks.add(`${s.colour} ${s.dash} ${s.marker} ${s.solid}`);
  }
  expect(looks.size).toBe(21);
  for (let n = 0; n < 7; n++) {
    const same = [styleOf(n), styleOf(n + 7), styleOf(n + 14)].map((s) => `${s.dash} ${s.marker} ${s.solid}`);
    expect(new Set(same).size).toBe(3);
  }
});

test("every marker is a path", () => {
  for (let n = -1; n < 14; n++) expect(markerPath(styleOf(n).marker, 10, 20, 4)).toMatch(/^M[-0-9. ]+/);
});
