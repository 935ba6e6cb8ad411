import type { Data } from "../data/model.ts";

// follow keeps the page up to date with a run that goes on: each event makes it fetch the data again, one fetch at a time.
export async function follow(show: (data: Data) => Promise<void>, tell: (text: string) => void): Promise<void> {
  let fetching = false;
  let again = false;
  let ended = false;
  const events = new EventSource("events");
  const refresh = async () => {
    if (ended) return; // the server goes once the last figures are fetched
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
        const done = data.answer.state !== "running";
        tell(done ? `the run is ${data.answer.state}` : `live: ${data.answer.trials} trials so far`);
        if (done) {
          ended = true;
          events.close();
        }
      } catch {
        if (!ended) tell("live: no data for the moment");
      }
    } while (again && !ended);
    fetching = false;
  };
  events.addEventListener("trial", () => void refresh());
  events.addEventListener("state", () => void refresh());
  events.addEventListener("open", () => void refresh());
  events.addEventListener("error", () => {
    if (!ended) tell("live: the run's server does not answer; the page keeps what it has");
  });
  await refresh();
}
