import { expect, test } from "vitest";
import { figureKey, query, settle } from "./history.ts";
import type { Choice } from "../data/model.ts";

const rtt: Choice = { workload: "rr", metric: "rtt", stat: "p50", unit: "s", arms: ["l2", "vxlan & co"] };
const goodput: Choice = { workload: "rr", metric: "goodput", stat: "", unit: "bit/s", scope: "background",
  arms: ["l2"] };

test("a choice stays as long as it is available", () => {
  const asked = { experiment: "overlay", figure: figureKey(goodput), arm: "l2" };
  expect(settle(asked, [rtt, goodput])).toEqual(asked);
  expect(settle({ ...asked, arm: "gone" }, [rtt, goodput])).toEqual(asked);
  expect(settle({ ...asked, figure: "gone", arm: "vxlan & co" }, [rtt, goodput]))
    .toEqual({ experiment: "overlay", figure: figureKey(rtt), arm: "vxlan & co" });
  expect(settle(asked, [])).toEqual({ experiment: "overlay", figure: "", arm: "" });
});

test("the address of the data has the whole choice", () => {
  const asked = { experiment: "a&b=c", figure: figureKey(rtt), arm: "vxlan & co" };
  const q = new URLSearchParams(query(asked, [rtt, goodput]).split("?")[1]);
  expect(Object.fromEntries(q))
    .toEqual({ experiment: "a&b=c", workload: "rr", metric: "rtt", stat: "p50", scope: "", arm: "vxlan & co" });
  const none = query({ ...asked, figure: "" }, [rtt]);
  expect(new URLSearchParams(none.split("?")[1]).get("metric")).toBeNull();
});

test("quantities that differ only in their scope have different keys", () => {
  expect(figureKey({ ...goodput, scope: undefined })).not.toBe(figureKey(goodput));
});
