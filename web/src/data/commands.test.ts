import { expect, test } from "vitest";
import { templates } from "./commands.ts";
import { diff } from "./diff.ts";

test("lines that differ in addresses are one template with a column", () => {
  const t = templates([
    { arm: "near", lines: ["server --listen 10.0.0.2", "client --to 10.0.0.2 --size 64"] },
    { arm: "far", lines: ["server --listen 10.1.0.2", "client --to 10.1.0.2 --size 64"] },
  ]);
  expect(t.length).toBe(1);
  expect(t[0]!.columns).toEqual([["10.0.0.2", "10.1.0.2"]]);
  expect(t[0]!.lines).toEqual([
    [{ text: "server" }, { text: "--listen" }, { column: 0 }],
    [{ text: "client" }, { text: "--to" }, { column: 0 }, { text: "--size" }, { text: "64" }],
  ]);
});

test("an arm with one word more has a template of its own", () => {
  const t = templates([{ arm: "a", lines: ["x 1"] }, { arm: "b", lines: ["x 1 --bbr"] }, { arm: "c", lines: ["x 2"] }]);
  expect(t.map((g) => g.arms)).toEqual([["a", "c"], ["b"]]);
});

test("diff", () => {
  const signs = { same: "", added: "+", gone: "-" };
  const kinds = (a: string, b: string) => diff([...a], [...b]).map((s) => signs[s.kind] + s.value).join(" ");
  expect(kinds("b", "fbrb")).toBe("+f b +r +b");
  expect(kinds("abc", "ac")).toBe("a -b c");
  expect(kinds("", "a")).toBe("+a");
  expect(kinds("ab", "ab")).toBe("a b");
});
