import { afterEach, describe, expect, test, vi } from "vitest";
import type { Data } from "../data/model.ts";
import { left } from "../format/scale.ts";
import { follow, progressOf, statusOf } from "./live.ts";

const data = (trials: number, planned?: number) => ({ answer: { trials }, planned }) as Data;

describe("the status of a run in progress", () => {
  test("is what its server tells", () => {
    const progress = progressOf(`{"done":34,"total":96,"left_seconds":125.5,"state":"running"}`);
    expect(statusOf(data(33, 96), progress)).toEqual(
      { text: "live: 34 of 96 trials so far, about 2 min left", done: 34, total: 96 });
  });
  test("is what the data know before", () => {
    expect(statusOf(data(5, 14), undefined)).toEqual({ text: "live: 5 of 14 trials so far", done: 5, total: 14 });
    expect(statusOf(data(5), undefined)).toEqual({ text: "live: 5 trials so far" });
  });
  test("takes no progress from events without", () => {
    for (const event of ["null", "{}", "", "[1]", `{"done":"1","total":2}`, `{"done":0,"total":0}`]) {
      expect(progressOf(event), event).toBeUndefined();
    }
  });
});

test("times that are left have few digits", () => {
  expect([0.4, 12, 89, 90, 150, 5399, 5400, 20_000].map(left)).toEqual(["about 10 s", "about 20 s", "about 90 s",
    "about 2 min", "about 3 min", "about 90 min", "about 2 h", "about 6 h"]);
});

describe("a followed run", () => {
  // Stream is a stream of events that the test sends.
  class Stream extends EventTarget {
    static opened: Stream[] = [];
    closed = false;
    constructor() {
      super();
      Stream.opened.push(this);
    }
    close() { this.closed = true; }
    send(type: string, data: string) { this.dispatchEvent(Object.assign(new Event(type), { data })); }
  }
  afterEach(() => vi.unstubAllGlobals());

  test("needs no more events when it has ended, and is shown", async () => {
    let state = "running";
    vi.stubGlobal("EventSource", Stream);
    vi.stubGlobal("fetch", async () => Response.json({ answer: { trials: 3, state } }));
    const told: string[] = [];
    let resume = () => {};
    const slow = new Promise<void>((resolve) => { resume = resolve; });
    await follow(async (d) => { if (d.answer.state !== "running") await slow; }, (status) => told.push(status.text));
    const [stream] = Stream.opened;
    stream?.send("state", `{"state":"running"}`);
    expect(stream?.closed).toBe(false);
    state = "complete";
    stream?.send("state", `{"state":"complete"}`);
    expect(stream?.closed, "before the page has shown the last data").toBe(true);
    resume();
    await vi.waitFor(() => expect(told.at(-1)).toBe("the run is complete"));
  });
});
