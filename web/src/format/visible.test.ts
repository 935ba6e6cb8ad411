import { expect, test } from "vitest";
import { oneLine, visible } from "./visible.ts";

test("control characters and invisible characters are shown as symbols", () => {
  expect(visible("\x1b[31mred\x07")).toBe("\u241b[31mred\u2407");
  expect(visible("a\u202eb\u200bc\u2028d\u{e0041}"))
    .toBe("a\u27e8U+202E\u27e9b\u27e8U+200B\u27e9c\u27e8U+2028\u27e9d\u27e8U+E0041\u27e9");
  expect(visible("\x7f\x9b")).toBe("\u2421\u27e8U+009B\u27e9");
  expect(visible("two\n\tlines <b>&amp;")).toBe("two\n\tlines <b>&amp;");
});

test("a line is one line", () => {
  expect(oneLine("a\r\n\tb\x00")).toBe("a b\u2400");
});
