import { expect, test } from "vitest";
import { none, parsed, written, type Choices } from "./address.ts";

test("what is written is read again", () => {
  const c: Choices = {
    workload: "rr & co", quantity: "rtt p99", hidden: ["a=b", "c,d"], log: false, relative: true, overTime: true, open: ["commands"], closed: ["arms"],
  };
  expect(parsed("#" + written(c))).toEqual(c);
  expect(parsed("#" + written({ ...none(), workload: "rr" }))).toEqual({ ...none(), workload: "rr", quantity: undefined, log: undefined });
});

test("nothing chosen is nothing written, and a place on the page is no choice", () => {
  expect(written(none())).toBe("");
  expect(parsed("")).toBeUndefined();
  expect(parsed("#warnings")).toBeUndefined();
});
