import type { Data } from "../data/model.ts";

// follow keeps the page up to date with a run in progress. Each event makes it fetch the data again, one fetch at a
// time.
//
// The server ends soon after the run. So the end of the event stream is not an error: the page first finds out whether
// the run has ended, and reports that the server does not answer only after a request has failed.
export async function follow(show: (data: Data) => Promise<void>, tell: (text: string) => void): Promise<void> {
  let fetching = false;
  let again = false;
  // The state in which the run ended, once an event or the data have it, and whether the last data are shown.
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
        // An event may say that the run has ended while older data are on their way: what is shown is not final then.
        tell(shown ? (over ? `the run is ${over}` : "") : `live: ${data.answer.trials} trials so far`);
      } catch {
        tell(over !== undefined ? `the run is ${over}; its last figures have not arrived`
          : "live: the run's server does not answer; the page keeps what it has");
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
  // If the server has closed the stream for good (status 204), the run has ended, and the data say so.
  events.addEventListener("error", () => {
    if (over === undefined) void refresh();
  });
  await refresh();
}

// stateOf reads the final state of the run from an event; undefined if it still runs.
function stateOf(data: unknown): string | undefined {
  try {
    const state = (JSON.parse(String(data)) as { state?: unknown } | null)?.state;
    return typeof state === "string" && state !== "running" ? state : undefined;
  } catch {
    return undefined;
  }
}
