import { button, el } from "../ui/dom.ts";

// The keys, in the order of the help.
export const keys: [string, string][] = [
  ["?", "this help"],
  ["w, W", "next, previous workload"],
  ["m, M", "next, previous metric"],
  ["1 to 9", "hide or show an arm"],
  ["0", "show all arms"],
  ["l", "logarithmic axes on or off"],
  ["j, k", "next, previous part of the page"],
  ["t", "theme: as the system, light, dark"],
  ["on a chart: \u2190 \u2192", "from point to point"],
  ["on a chart: \u2191 \u2193", "from arm to arm"],
  ["on a chart: + -", "zoom in, out"],
  ["on a chart: Enter", "the trial's record, where the point is a trial"],
  ["on a chart: Esc", "zoom out to the whole"],
];

// helpDialog makes the dialog that lists the keys.
export function helpDialog(): HTMLDialogElement {
  const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keys"),
    el("dl", {}, ...keys.flatMap(([key, does]) => [el("dt", {}, key), el("dd", {}, does)])),
    el("p", {}, "With the pointer: drag over a chart to zoom in, double-click to zoom out. Shift and click an arm to "
      + "see only this arm."));
  dialog.append(button("Close", {}, () => dialog.close()));
  return dialog;
}
