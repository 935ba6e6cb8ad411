import { expect, test } from "vitest";
import { unpack } from "./unpack.ts";

test("unpack gives the value that was packed", async () => {
  const value = { a: [1, 2.5e-6, null], text: "\u00fc\u2603 </script>" };
  const zipped = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("gzip"));
  const packed = btoa(String.fromCharCode(...new Uint8Array(await new Response(zipped).arrayBuffer())));
  expect(await unpack(packed)).toEqual(value);
});

test("invalid data are an error", async () => {
  await expect(unpack("AAAA")).rejects.toThrow();
});
