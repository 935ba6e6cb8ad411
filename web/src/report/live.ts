import type { Data } from "../data/model.ts";
import { left } from "../format/scale.ts";

// Status is what the page says about a run in progress: a text, and how many trials of how many have ended, if that is
// known and the run goes on.
export interface Status {
  text: string;
  done?: number;
  total?: number;
}

// Progress is how far a run is, as its server tells it.
interface Progress {
  done: number;
  total: number;
  left: number;
}

// follow keeps the page up to date with a run in progress. Each event makes it fetch the data again, one fetch at a
// time.
//
// The server ends soon after the run. So the end of the event stream is not an error: the page first finds out whether
// the run has ended, and reports that the server does not answer only after a request has failed.
export async function follow(show: (data: Data) => Promise<void>, tell: (status: Status) => void): Promise<void> {
  let fetching = false;
  let again = false;
  // The state in which the run ended, once an event or the data have it, and whether the last data are shown.
  let over: string | undefined;
  let shown = false;
  let progress: Progress | undefined;
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
        tell(shown ? { text: over ? `the run is ${over}` : "" } : statusOf(data, progress));
      } catch {
        tell({ text: over !== undefined ? `the run is ${over}; its last figures have not arrived`
          : "live: the run's server does not answer; the page keeps what it has" });
      }
    } while (again && !shown);
    fetching = false;
  };
  events.addEventListener("trial", (e) => {
    progress = progressOf(e.data) ?? progress;
    void refresh();
  });
  events.addEventListener("state", (e) => {
    over = stateOf(e.data);
    // The last event. If the page were slow to show the last data, it would connect to a server that has ended.
    if (over !== undefined) events.close();
    void refresh();
  });
  events.addEventListener("open", () => void refresh());
  // If the server has closed the stream for good (status 204), the run has ended, and the data say so.
  events.addEventListener("error", () => {
    if (over === undefined) void refresh();
  });
  await refresh();
}

// statusOf says how far a run is: as its server tells it, or as far as the data know.
export function statusOf(data: Data, progress: Progress | undefined): Status {
  const done = progress?.done ?? data.answer.trials;
  const total = progress?.total ?? data.planned ?? 0;
  if (total === 0) return { text: `live: ${done} trials so far` };
  const rest = progress && progress.left > 0 ? `, ${left(progress.left)} left` : "";
  return { text: `live: ${done} of ${total} trials so far${rest}`, done, total };
}

// progressOf reads how far the run is from an event; undefined if the event does not say so.
export function progressOf(data: unknown): Progress | undefined {
  try {
    const p = JSON.parse(String(data)) as { done?: unknown; total?: unknown; left_seconds?: unknown } | null;
    if (typeof p?.done !== "number" || typeof p.total !== "number" || p.total <= 0) return undefined;
    return { done: p.done, total: p.total, left: typeof p.left_seconds === "number" ? p.left_seconds : 0 };
  } catch {
    return undefined;
  }
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
