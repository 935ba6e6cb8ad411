import { describe, expect, test } from "vitest";
import { findings, ranked, strength } from "./findings.ts";
import type { Answer, Comparison } from "./model.ts";
import { kindName, kindOf, moreNeeded, mood } from "./verdict.ts";

const c = (part: Partial<Comparison>): Comparison => ({
  arm: "a", baseline: "b", workload: "rr", metric: "rtt", stat: "p50", unit: "s", difference: 1e-6, interval: [5e-7, 2e-6], confidence: 0.95,
  relative: 0.1, relative_interval: [0.05, 0.2], p_value: 0.01, verdict: "higher", better: "baseline", detectable: null, blocks: 10, blocks_needed: null, ...part,
});

describe("ranked", () => {
  test("the surest large difference is first, then the kinds of nothing", () => {
    const wide = c({ arm: "wide", relative: 0.5, relative_interval: [0.01, 1] });
    const firm = c({ arm: "firm", relative: -0.3, relative_interval: [-0.32, -0.28], verdict: "lower", better: "arm" });
    const none = c({ arm: "none", verdict: "no-difference", relative: 0.9, relative_interval: [-0.1, 1.9], better: undefined });
    const few = c({ arm: "few", verdict: "too-few-blocks", relative: 2, relative_interval: null, interval: null });
    const refused = c({ arm: "refused", verdict: "not-comparable", difference: null, interval: null, relative: null, relative_interval: null });
    expect(ranked([refused, few, none, wide, firm]).map((r) => r.arm)).toEqual(["firm", "wide", "none", "few", "refused"]);
  });
  test("without relative figures the absolute ones count", () => {
    expect(strength(c({ relative: null, relative_interval: null }))).toBe(5e-7);
    expect(strength(c({ relative: 0.4, relative_interval: null, interval: null }))).toBe(0.4);
    expect(strength(c({ relative_interval: [-0.1, 0.2] }))).toBe(0);
  });
});

describe("findings", () => {
  const answer = (comparisons: Comparison[], imported = false) => ({ comparisons, imported }) as Answer;
  test("of several arms the first quantity leads", () => {
    const f = findings(answer([c({ arm: "x" }), c({ arm: "y", relative_interval: [0.4, 0.5] }), c({ arm: "x", stat: "p99" })]));
    expect(f.lead.map((r) => r.arm)).toEqual(["y", "x"]);
    expect(f.rest.map((r) => r.stat)).toEqual(["p99"]);
  });
  test("of one arm all lead, and an import begins where there is a figure", () => {
    expect(findings(answer([c({}), c({ stat: "p99" })])).lead.length).toBe(2);
    const f = findings(answer([c({ arm: "x", difference: null, verdict: "not-comparable" }), c({ arm: "y", stat: "mean" })], true));
    expect(f.lead.map((r) => r.arm)).toEqual(["y"]);
    expect(findings(answer([]))).toEqual({ lead: [], rest: [] });
  });
});

describe("three kinds of nothing", () => {
  test.each([
    [c({ verdict: "no-difference" }), "none", "no difference seen"],
    [c({ verdict: "too-few-blocks", interval: null }), "too-few", "too few blocks"],
    [c({ verdict: "too-few-trials", trials: [3, 4], interval: null }), "too-few", "too few trials"],
    [c({ verdict: "single-trial", trials: [1, 1], interval: null }), "too-few", "a single trial a side"],
    [c({ verdict: "not-comparable", interval: null }), "too-few", "too few blocks"],
    [c({ verdict: "not-comparable", difference: null, interval: null }), "refused", "not comparable"],
  ])("%#", (comparison, kind, name) => {
    expect(kindOf(comparison)).toBe(kind);
    expect(kindName(comparison)).toBe(name);
    expect(mood(comparison)).toBe("unsure");
  });
  test("how many more", () => {
    expect(moreNeeded(c({ blocks_needed: 1 }))).toBe("1 more block");
    expect(moreNeeded(c({ blocks_needed: 4, trials: [2, 2] }))).toBe("4 more trials on each side");
    expect(moreNeeded(c({ blocks_needed: 3, about: "runs", trials: [40, 40] }))).toBe("3 more runs on each side");
    expect(moreNeeded(c({ blocks_needed: 0 }))).toBe("");
  });
});
