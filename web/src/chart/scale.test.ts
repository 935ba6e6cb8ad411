import { describe, expect, test } from "vitest";
import { fromNines, linearTicks, nines, padded, scaleOf, type ScaleKind } from "./scale.ts";

describe("ticks", () => {
  test.each([
    [[0, 10], 6, [0, 2, 4, 6, 8, 10]],
    [[-1, 1], 5, [-1, -0.5, 0, 0.5, 1]],
    [[6.3e-6, 8.9e-6], 4, [7e-6, 8e-6]],
    [[5, 5], 4, [5]],
  ])("of %j, at most %d", (domain, most, want) => {
    expect(linearTicks(domain as [number, number], most)).toEqual(want);
  });

  test("are within any domain, and increase", () => {
    for (let n = 0; n < 500; n++) {
      const low = (n - 250) * 10 ** ((n % 13) - 9);
      const high = low + (1 + (n % 7)) * 10 ** ((n % 11) - 8);
      const ticks = linearTicks([low, high], 2 + (n % 9));
      const room = Math.max((high - low) * 1e-6, Math.abs(low) * 1e-11); // the error of twelve digits
      ticks.forEach((t, i) => {
        expect(t).toBeGreaterThanOrEqual(low - room);
        expect(t).toBeLessThanOrEqual(high + room);
        if (i > 0) expect(t).toBeGreaterThan(ticks[i - 1]!);
      });
      expect(ticks.length).toBeLessThanOrEqual(20);
    }
  });

  test("of a logarithmic axis name the powers", () => {
    const scale = scaleOf("log", [1e-6, 1e-2], [0, 400], (v) => v.toExponential());
    const labels = scale.ticks(80).filter((t) => t.label).map((t) => t.at);
    expect(labels).toContain(1e-5);
    expect(labels).toContain(1e-3);
  });

  test("of percentiles are the usual ones", () => {
    const scale = scaleOf("percentile", [10, 99.95], [0, 800], String);
    expect(scale.ticks(60).map((t) => t.label)).toEqual(["p50", "p90", "p99", "p99.9"]);
  });
});

describe("places", () => {
  test.each(["linear", "log", "percentile", "rows"] as ScaleKind[])("%s: value is the inverse of place", (kind) => {
    const domain: [number, number] = kind === "percentile" ? [50, 99.99] : [1e-6, 5e-3];
    const s = scaleOf(kind, domain, [40, 900], String);
    expect(s.place(domain[0])).toBeCloseTo(40);
    expect(s.place(domain[1])).toBeCloseTo(900);
    for (const at of [60, 333, 899]) expect(s.place(s.value(at))).toBeCloseTo(at, 6);
  });

  test("each nine of a percentile is one step", () => {
    expect(nines(90)).toBeCloseTo(1);
    expect(nines(99)).toBeCloseTo(2);
    expect(nines(99.9)).toBeCloseTo(3);
    expect(fromNines(nines(99.95))).toBeCloseTo(99.95);
    expect(Number.isFinite(nines(100))).toBe(true);
  });
});

describe("padded", () => {
  test("holds every value", () => {
    expect(padded([2, 4], "linear")).toEqual([1.9, 4.1]);
    expect(padded([2, 4], "linear", true)).toEqual([0, 4.2]);
    expect(padded([-2, -1], "linear", true)[1]).toBe(0);
  });
  test("handles one value, no value, and values without a logarithm", () => {
    const [low, high] = padded([5], "linear");
    expect(low).toBeLessThan(5);
    expect(high).toBeGreaterThan(5);
    expect(padded([], "linear")).toEqual([0, 1]);
    expect(padded([0, 0], "linear", true, 1e-6)).toEqual([-1e-6, 1e-6]);
    expect(padded([0, -1, 10], "log")).toEqual([10 / 1.5, 15]);
    expect(padded([NaN, Infinity, 3], "linear")[0]).toBeLessThan(3);
  });
});
