import { expect, test } from "vitest";
import { elementName, stacked, type Bar } from "./inside.ts";

test("segments follow each other, and those below zero go the other way", () => {
  const step = { way: "request", kind: "send" as const };
  const bars: Bar[] = [{ name: "a", segments: [3, -2, 4, -1].map((value) => ({ step, value, about: [] })) },
    { name: "b", segments: [{ step, value: 5, about: [] }] }];
  expect(stacked(bars).map(({ point }) => [point.y, point.from, point.x])).toEqual([
    [0, 0, 3], [0, 0, -2], [0, 3, 7], [0, -2, -3], [1, 0, 5],
  ]);
});

test("elements are named by what and where they are", () => {
  expect(elementName({ way: "reply", kind: "device", device: "eth0", device_kind: "veth", place: "router" }))
    .toBe("device eth0 in router");
  expect(elementName({ way: "reply", kind: "queue", device: "tun", device_kind: "vxlan" })).toBe("queue tun [vxlan]");
  expect(elementName({ way: "reply", kind: "encapsulate", device: "vxlan", device_kind: "vxlan" }))
    .toBe("encapsulate vxlan");
  expect(elementName({ way: "reply", kind: "encapsulate", device: "tun", device_kind: "vxlan", tunnel: "VNI 42" }))
    .toBe("encapsulate tun [vxlan, VNI 42]");
  expect(elementName({ way: "reply", kind: "decapsulate", device: "eth0", device_kind: "veth", tunnel: "VNI 42" }))
    .toBe("decapsulate eth0 [VNI 42]");
});
