import type { Data } from "../data/model.ts";

// follow keeps the page up to date with a run that goes on: each event makes it fetch the data again, one fetch at a time.
//
// The server goes away soon after the run has ended. So the end of the stream means nothing by itself: the page first learns
// whether the run is over, and says that nobody answers only where a request was made in vain.
export async function follow(show: (data: Data) => Promise<void>, tell: (text: string) => void): Promise<void> {
  let fetching = false;
  let again = false;
  // The state with which the run ended, as soon as an event or the data have said so, and whether its last data are shown.
  let over: string | undefined;
  let shown = false;
  const events = new EventSource("events");
  const refresh = async () => {
    if (shown) return;
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    do {
      again = false;
      try {
        const reply = await fetch("data.json", { cache: "no-store" });
        if (!reply.ok) throw new Error(String(reply.status));
        const data = (await reply.json()) as Data;
        await show(data);
        if (data.answer.state !== "running") {
          over = data.answer.state;
          shown = true;
          events.close();
        }
        tell(over !== undefined ? (over ? `the run is ${over}` : "") : `live: ${data.answer.trials} trials so far`);
      } catch {
        tell(over !== undefined ? `the run is ${over}; its last figures have not arrived` : "live: the run's server does not answer; the page keeps what it has");
      }
    } while (again && !shown);
    fetching = false;
  };
  events.addEventListener("trial", () => void refresh());
  events.addEventListener("state", (e) => {
    over = stateOf(e.data);
    void refresh();
  });
  events.addEventListener("open", () => void refresh());
  // A stream that is closed for good (204) belongs to a run that is over, and the data say so.
  events.addEventListener("error", () => {
    if (over === undefined) void refresh();
  });
  await refresh();
}

// stateOf is the state that an event tells.
function stateOf(data: unknown): string | undefined {
  try {
    const state = (JSON.parse(String(data)) as { state?: unknown } | null)?.state;
    return typeof state === "string" && state !== "running" ? state : undefined;
  } catch {
    return undefined;
  }
}
