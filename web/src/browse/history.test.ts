import { expect, test } from "vitest";
import { figureKey, query, settle } from "./history.ts";
import type { Choice } from "./model.ts";

const rtt: Choice = { workload: "rr", metric: "rtt", stat: "p50", unit: "s", arms: ["l2", "vxlan & co"] };
const goodput: Choice = { workload: "rr", metric: "goodput", stat: "", unit: "bit/s", scope: "background", arms: ["l2"] };

test("what was chosen stays chosen where it is still there", () => {
  const asked = { experiment: "overlay", figure: figureKey(goodput), arm: "l2" };
  expect(settle(asked, [rtt, goodput])).toEqual(asked);
  expect(settle({ ...asked, arm: "gone" }, [rtt, goodput])).toEqual(asked);
  expect(settle({ ...asked, figure: "gone", arm: "vxlan & co" }, [rtt, goodput])).toEqual({ experiment: "overlay", figure: figureKey(rtt), arm: "vxlan & co" });
  expect(settle(asked, [])).toEqual({ experiment: "overlay", figure: "", arm: "" });
});

test("an address asks for exactly what was chosen", () => {
  const asked = { experiment: "a&b=c", figure: figureKey(rtt), arm: "vxlan & co" };
  const q = new URLSearchParams(query(asked, [rtt, goodput]).split("?")[1]);
  expect(Object.fromEntries(q)).toEqual({ experiment: "a&b=c", workload: "rr", metric: "rtt", stat: "p50", scope: "", arm: "vxlan & co" });
  expect(new URLSearchParams(query({ ...asked, figure: "" }, [rtt]).split("?")[1]).get("metric")).toBeNull();
});

test("quantities of the same name and another scope are told apart", () => {
  expect(figureKey({ ...goodput, scope: undefined })).not.toBe(figureKey(goodput));
});
