import { describe, expect, test } from "vitest";
import { amount, count, number, percent, probability, share, signed, span, unitFor } from "./scale.ts";

describe("unitFor", () => {
  test.each([
    ["s", [8.31e-6], "us"],
    ["s", [1e-7], "us"],
    ["s", [9e-8], "ns"],
    ["s", [0.99949e-3], "us"],
    ["s", [0.9996e-3], "ms"],
    ["s", [0], "us"],
    ["s", [-2e-3, 1e-6], "ms"],
    ["s", [90], "s"],
    ["bit/s", [38.2e9], "Gbit/s"],
    ["bit/s", [94e6], "Mbit/s"],
    ["1/s", [85007], "/s"],
    ["1", [3], ""],
  ])("%s of %j is in %s", (base, values, name) => {
    expect(unitFor(base, values).name).toBe(name);
  });
});

describe("number", () => {
  const us = { factor: 1e-6, name: "us" };
  test.each([
    [8.31e-6, "8.31"],
    [123.456e-6, "123.5"],
    [1234.5e-6, "1235"],
    [0.1234e-6, "0.123"],
    [0, "0.00"],
    [-1e-12, "0.000"],
  ])("%d is %s", (value, text) => {
    expect(number(value, us)).toBe(text);
  });
  test("signed writes a sign", () => {
    expect(signed(1e-6, us)).toBe("+1.00");
    expect(signed(-1e-6, us)).toBe("-1.00");
    expect(signed(-1e-12, us)).toBe("+0.000");
  });
  test("an amount has its unit", () => {
    expect(amount(14.52e-6, "s")).toBe("14.52 us");
    expect(amount(3, "1")).toBe("3.00");
  });
});

test("percentages, probabilities and counts", () => {
  expect(percent(0.747)).toBe("+74.7 %");
  expect(percent(-0.0001)).toBe("+0.0 %");
  expect(percent(1.05)).toBe("+105 %");
  expect(probability(null)).toBe("-");
  expect(probability(0.00001)).toBe("<0.0001");
  expect(probability(0.0039)).toBe("0.0039");
  expect(count(1234567)).toBe("1,234,567");
});

test("shares and durations are written as in reports", () => {
  expect([0.0042, 0.19, 0.126, 1.34, 0, 1.24e-9].map(share))
    .toEqual(["0.42 %", "19 %", "13 %", "130 %", "0 %", "0.00000012 %"]);
  expect([0.2, 0.0505, 1.5, 90].map(span)).toEqual(["200ms", "50.5ms", "1.5s", "90s"]);
});
