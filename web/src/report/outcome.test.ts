import { expect, test } from "vitest";
import type { Outcome } from "../data/model.ts";
import { expectationText, worst } from "./outcome.ts";

test("the worst outcome counts", () => {
  expect(worst([])).toBe("");
  expect(worst(["proved", "proved"])).toBe("proved");
  expect(worst(["proved", "unknown"])).toBe("unknown");
  expect(worst(["unknown", "refuted", "proved"])).toBe("refuted");
  expect(worst(["something" as Outcome])).toBe("unknown");
});

test("an expectation is written as in reports", () => {
  expect(expectationText({ name: "mtu", value: 9000 })).toBe("mtu 9000");
  expect(expectationText({ name: "same-zone", value: true })).toBe("same-zone");
  expect(expectationText({ name: "same-zone", value: false })).toBe("same-zone false");
  expect(expectationText({ name: "fact", path: "model", value: "EPYC\x1b" })).toBe("fact model EPYC\u241b");
});
