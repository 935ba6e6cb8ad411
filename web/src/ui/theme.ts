// The theme: light, dark, or the system's preference.

export type Theme = "auto" | "light" | "dark";

const order: Theme[] = ["auto", "light", "dark"];

// themeButton makes the button that switches between the themes.
export function themeButton(): HTMLButtonElement {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "theme";
  let current: Theme = "auto";
  const show = () => {
    if (current === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = current;
    b.textContent = `Theme: ${current}`;
    b.setAttribute("aria-label", `Theme: ${current}. Press for the next one.`);
  };
  b.addEventListener("click", () => {
    current = order[(order.indexOf(current) + 1) % order.length]!;
    show();
  });
  show();
  return b;
}
