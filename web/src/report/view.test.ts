import { describe, expect, test } from "vitest";
import { openIntervals, type Answer, type Comparison, type Data } from "../data/model.ts";
import { labText } from "./head.ts";
import { next } from "./page.ts";
import { bounded } from "./percentiles.ts";
import { bounds, signedBounds, verdictText, wantsLog } from "./values.ts";
import { View } from "./view.ts";

function data(workloads: string[], quantities: [number, string][]): Data {
  return {
    nearfar: "v1", page: 1, name: "x", started: "", ended: "", seed: 1, versions: {}, trials: "", curves: "",
      courses: "",
    answer: {
      nearfar: "v1", question: "", verdict: "", headline: "", findings: [], run: "", state: "complete",
      baseline: "b", blocks: 1, trials: 0, failed: 0,
      averages: { arms: "", comparisons: "", layers: "" }, arms: [], comparisons: [], layers: [], residual: [],
      warnings: [
        { code: "bimodal", message: "", arm: "a", workload: "one" },
        { code: "incomplete", message: "", arm: "", workload: "" },
        { code: "one-block-decides", message: "", arm: "", workload: "two" },
      ],
    },
    arms: ["a", "b", "c"].map((name) => ({ name, path: "", elements: [], layers: {} })),
    workloads: workloads.map((name) => ({ name, tool: "", mode: "", description: "", skipped: "" })),
    quantities: quantities.map(([workload, stat]) => ({ workload, metric: "rtt", stat, unit: "s", better: "lower",
      compared: true })),
    loads: [], hosts: { run: [], arms: [], trials: [], varying: [] }, commands: [], records: [], notes: [],
  };
}

describe("View", () => {
  test("keeps what was chosen when the data change", () => {
    const before = new View(data(["one", "two"], [[0, "p50"], [0, "p99"], [1, "p50"], [1, "p99"]]));
    before.choose(1);
    before.quantity = 3;
    before.hidden.add("c");
    const after = new View(data(["new", "one", "two"], [[0, "p50"], [2, "p50"], [2, "p99"]]), before);
    expect(after.workloadName).toBe("two");
    expect(after.chosen?.stat).toBe("p99");
    expect(after.shown("c")).toBe(false);
  });
  test("takes the first workload and quantity if the chosen ones are gone", () => {
    const before = new View(data(["one"], [[0, "p99"]]));
    const after = new View(data(["two"], [[0, "p50"]]), before);
    expect(after.title).toBe("two, rtt p50");
  });
  test("chooses nothing in a run without figures", () => {
    const view = new View(data([], []));
    expect(view.chosen).toBeUndefined();
    expect(view.title).toBe("");
  });
  test("the baseline has its own colour wherever it is in the list", () => {
    const view = new View(data(["one"], [[0, "p50"]]));
    expect(view.style("b").colour).toBe("c0");
    expect(view.style("a").colour).toBe("c1");
    expect(view.style("c").colour).toBe("c2");
  });
  test("each warning is in the part of the page that it concerns", () => {
    const view = new View(data(["one", "two"], [[0, "p50"], [1, "p50"]]));
    expect(view.warningsOf("trials").map((w) => w.code)).toEqual(["bimodal"]);
    view.choose(1);
    expect(view.warningsOf("trials")).toEqual([]);
    expect(view.warningsOf("arms").map((w) => w.code)).toEqual(["incomplete"]);
    expect(view.warningsOf("differences").map((w) => w.code)).toEqual(["one-block-decides"]);
  });
});

test("next wraps around", () => {
  expect(next([3, 5, 9], 9, 1)).toBe(3);
  expect(next([3, 5, 9], 3, -1)).toBe(9);
  expect(next([], 4, 1)).toBe(4);
});

test("a logarithmic axis is for positive values with a wide range", () => {
  expect(wantsLog([1, 30], undefined)).toBe(true);
  expect(wantsLog([1, 3], undefined)).toBe(false);
  expect(wantsLog([1, 3], true)).toBe(true);
  expect(wantsLog([0, 30], true)).toBe(false);
  expect(wantsLog([], true)).toBe(false);
});

test("a wide band does not make the medians hard to see", () => {
  const points = [{ x: 50, m: 1, l: 0.9, h: 1.1 }, { x: 99, m: 2, l: 1.9, h: 1000 }];
  const [low, high] = bounded(points, "linear");
  expect(high).toBeLessThan(3);
  expect(low).toBeGreaterThan(0.5);
});

describe("verdictText", () => {
  const c = (part: Partial<Comparison>) => ({ blocks_needed: null, difference: null, ...part }) as Comparison;
  test.each([
    [c({ verdict: "higher", better: "baseline" }), "higher (worse)"],
    [c({ verdict: "higher", better: "baseline", one_block_decides: { blocks_more: 1 } }),
      "higher (worse); rests on one block"],
    [c({ verdict: "lower", better: "arm" }), "lower (better)"],
    [c({ verdict: "lower", better: "arm", but: "2 % of its\x1b requests are lost" }),
      "lower (better here); but 2 % of its\u241b requests are lost"],
    [c({ verdict: "lower", better: "arm", unproved: "vf\x1b is not proved" }),
      "lower (better); vf\u241b is not proved"],
    [c({ verdict: "no-difference", blocks_needed: 140 }),
      "none seen (140 more blocks would show a difference of this size four times in five)"],
    [c({ verdict: "no-difference", blocks_needed: 4, trials: [7, 8] }),
      "none seen (4 more trials on each side would show a difference of this size four times in five)"],
    [c({ verdict: "too-few-blocks", blocks_needed: 4 }), "too few blocks: it takes 4 more blocks"],
    [c({ verdict: "single-trial", reason: "one trial a side" }), "one trial a side"],
    [c({ verdict: "not-comparable", reason: "tool: a\x1b against b" }), "not comparable: tool: a\u241b against b"],
  ])("%#", (comparison, text) => {
    expect(verdictText(comparison)).toBe(text);
  });
});

test("an interval without a bound says so", () => {
  const answer = {
    arms: [{ interval: [7.4e-6, null] }, { interval: null }], layers: [],
    comparisons: [{ interval: [null, 2e-6], relative_interval: [null, 0.2] }],
  } as unknown as Answer;
  openIntervals(answer);
  const unit = { factor: 1e-6, name: "us" };
  expect(answer.arms.map((f) => bounds(f.interval, unit))).toEqual(["[7.40, unbounded]", "none"]);
  expect(answer.comparisons.map((k) => signedBounds(k.interval, unit))).toEqual(["[unbounded, +2.00]"]);
});

test("the description of a lab in one line", () => {
  expect(labText({ text: "", kernel: "6.18", cpu: "AMD\x1b EPYC", cpus: 2, congestion: "bbr", limits: [] }))
    .toBe("A lab on one machine: Linux 6.18, 2 CPUs (AMD\u241b EPYC), TCP bbr by default");
  expect(labText({ text: "", kernel: "6.18", cpus: 1, wire: "user space", limits: null }))
    .toBe("A lab on one machine: Linux 6.18, 1 CPU, wires: user space");
});
