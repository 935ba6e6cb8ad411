import { expect, test } from "vitest";
import { none, parsed, written, type Choices } from "./address.ts";

test("parsed reverses written", () => {
  const c: Choices = {
    workload: "rr & co", quantity: "rtt p99", hidden: ["a=b", "c,d"], log: false, relative: true, overTime: true,
    open: ["commands"], closed: ["arms"],
  };
  expect(parsed("#" + written(c))).toEqual(c);
  const one = { ...none(), workload: "rr" };
  expect(parsed("#" + written(one))).toEqual({ ...one, quantity: undefined, log: undefined });
});

test("without choices the address is empty, and the id of a section is not a choice", () => {
  expect(written(none())).toBe("");
  expect(parsed("")).toBeUndefined();
  expect(parsed("#warnings")).toBeUndefined();
});
