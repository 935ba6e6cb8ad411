import { expect, test } from "vitest";
import type { AddedArm } from "../data/model.ts";
import { addedTime, countOf } from "./meaning.ts";

const far: AddedArm = {
  arm: "far",
  each_round_trip: { value: 8e-6, interval: [7e-6, 9e-6] },
  each_byte: { value: 1e-9, interval: [0.5e-9, 2e-9] },
};

test("round trips and bytes add up, with their intervals", () => {
  const sum = addedTime(far, 40, 1e6)!;
  expect(sum.value).toBeCloseTo(1.32e-3, 9);
  expect(sum.interval![0]).toBeCloseTo(0.78e-3, 9);
  expect(sum.interval![1]).toBeCloseTo(2.36e-3, 9);
});

test("what is not known is not added", () => {
  expect(addedTime({ ...far, each_byte: null }, 40, 1)).toBeUndefined();
  expect(addedTime({ ...far, each_byte: null }, 40, 0)!.interval![1]).toBeCloseTo(360e-6, 9);
  expect(addedTime({ ...far, each_round_trip: { value: 8e-6, interval: null } }, 1, 1e6)!.interval).toBeNull();
});

test("numbers of readers", () => {
  expect(countOf("40")).toBe(40);
  expect(countOf("1e9")).toBe(1e9);
  for (const wrong of ["", " ", "-1", "1e10", "many", "Infinity"]) expect(countOf(wrong)).toBeUndefined();
});
