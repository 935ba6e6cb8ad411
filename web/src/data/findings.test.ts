import { describe, expect, test } from "vitest";
import { comparisonOf, counted, findings, needed, type Row } from "./findings.ts";
import type { Answer, Comparison, Deployments } from "./model.ts";
import { kindName, kindOf, moreNeeded, colourOf } from "./verdict.ts";

const c = (part: Partial<Comparison>): Comparison => ({
  arm: "a", baseline: "b", workload: "rr", metric: "rtt", stat: "p50", unit: "s",
  difference: 1e-6, interval: [5e-7, 2e-6], confidence: 0.95, relative: 0.1, relative_interval: [0.05, 0.2],
  p_value: 0.01, widened: false, verdict: "higher", better: "baseline", detectable: null, blocks: 10,
  blocks_needed: null, ...part,
});

const f = (part: Partial<Row>): Row => {
  const { arm, ...rest } = c({});
  return { ...rest, kind: "arm", name: arm, ...part };
};
const few: Partial<Row> = { verdict: "too-few-blocks", better: undefined };
const none: Partial<Row> = { verdict: "no-difference", better: undefined };
const answer = (all: Row[], comparisons: Comparison[] = []) => ({ findings: all,
  comparisons }) as unknown as Answer;
const names = (all: Row[]) => all.map((x) => x.name);

describe("findings", () => {
  test("keep the answer's order, whatever their sizes, and those that are not sure are folded", () => {
    const all = [
      f({ kind: "layer", name: "vtep", relative: 0.1 }), f({ name: "small", relative: 0.01 }),
      f({ name: "large", relative: 3 }), f({ name: "few", ...few }), f({ name: "none", ...none }),
    ];
    const { shown, folded } = findings(answer(all));
    expect(names(shown)).toEqual(["vtep", "small", "large"]);
    expect(names(folded)).toEqual(["few", "none"]);
    expect(counted(folded)).toBe("1 too few blocks, 1 no difference seen");
  });
  test("if there are many sure findings, the last are folded", () => {
    const all = Array.from({ length: 14 }, (_, i) => f({ name: `a${i}` }));
    const { shown, folded } = findings(answer(all));
    expect(names(shown)).toEqual(names(all).slice(0, 12));
    expect(counted(folded)).toBe("2 sure");
  });
  test("if nothing is sure, at most four rows with too few blocks are shown", () => {
    const manyFew = Array.from({ length: 9 }, (_, i) => f({ name: `few${i}`, ...few }));
    const all = [...manyFew, f({ name: "none", ...none })];
    const { shown, folded } = findings(answer(all));
    expect(names(shown)).toEqual(["few0", "few1", "few2", "few3", "none"]);
    expect(names(folded)).toEqual(["few4", "few5", "few6", "few7", "few8"]);
  });
  test("an answer without findings shows its comparisons, in their order", () => {
    const few = c({ arm: "few", verdict: "too-few-blocks" });
    const comparisons = [few, c({ arm: "x", relative: 0.1 }), c({ arm: "y", relative: 2 })];
    const older = { comparisons } as unknown as Answer;
    const { shown, folded } = findings(older);
    expect(names(shown)).toEqual(["x", "y"]);
    expect(names(folded)).toEqual(["few"]);
    expect(findings({ comparisons: [] } as unknown as Answer)).toEqual({ shown: [], folded: [] });
  });
});

describe("how much more is needed", () => {
  const comparisons = [c({ arm: "a", stat: "p99", blocks_needed: 9 }), c({ arm: "a", blocks_needed: 3 }),
    c({ arm: "other" })];
  test("comes from the comparison of the same workload and quantity", () => {
    const own = f({ ...few, reason: "7 blocks are too few" });
    expect(comparisonOf(answer([own], comparisons), own)).toBe(comparisons[1]);
    expect(needed(answer([own], comparisons), own)).toBe("it takes 3 more blocks");
  });
  test("is the reason, if the answer does not say how much", () => {
    const own = f({ ...few, name: "other", reason: "the trials lack it" });
    expect(needed(answer([own], comparisons), own)).toBe("the trials lack it");
    const layer = f({ ...few, kind: "layer" });
    expect(comparisonOf(answer([layer], comparisons), layer)).toBeUndefined();
    expect(needed(answer([layer], comparisons), layer)).toBe("");
  });
});

describe("the verdicts without a difference", () => {
  test.each([
    [c({ verdict: "no-difference" }), "none", "no difference seen"],
    [c({ verdict: "too-few-blocks", interval: null }), "too-few", "too few blocks"],
    [c({ verdict: "too-few-trials", trials: [3, 4], interval: null }), "too-few", "too few trials"],
    [c({ verdict: "single-trial", trials: [1, 1], interval: null }), "too-few", "a single trial a side"],
    [c({ verdict: "too-few-deployments", interval: null }), "too-few", "too few deployments"],
    [c({ verdict: "too-few-deployments", difference: null, interval: null }), "too-few", "too few deployments"],
    [c({ verdict: "not-comparable", interval: null }), "too-few", "too few blocks"],
    [c({ verdict: "not-comparable", difference: null, interval: null }), "refused", "not comparable"],
  ])("%#", (comparison, kind, name) => {
    expect(kindOf(comparison)).toBe(kind);
    expect(kindName(comparison)).toBe(name);
    expect(colourOf(comparison)).toBe("unsure");
  });
  test("how many more", () => {
    expect(moreNeeded(c({ blocks_needed: 1 }))).toBe("1 more block");
    expect(moreNeeded(c({ blocks_needed: 4, trials: [2, 2] }))).toBe("4 more trials on each side");
    expect(moreNeeded(c({ blocks_needed: 3, about: "runs", trials: [40, 40] }))).toBe("3 more runs on each side");
    expect(moreNeeded(c({ blocks_needed: 0 }))).toBe("");
    const deployments = (needed: number | null) =>
      c({ deployments: { used: 2, deployments_needed: needed } as Deployments });
    expect(moreNeeded(deployments(3))).toBe("3 more deployments");
    expect(moreNeeded(deployments(null))).toBe("");
  });
});
