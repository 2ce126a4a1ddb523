/** Light, dark or as the system has it; remembered by this browser. */
export const THEME_CHOICES = ["auto", "light", "dark"] as const;
export type ThemeChoice = (typeof THEME_CHOICES)[number];
export type Theme = "light" | "dark";

const STORED = "rlx.theme";
const dark = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");

export function storedTheme(): ThemeChoice {
  const stored = localStorage.getItem(STORED);
  return THEME_CHOICES.find((choice) => choice === stored) ?? "auto";
}

export function themeOf(choice: ThemeChoice): Theme {
  if (choice !== "auto") return choice;
  return dark().matches ? "dark" : "light";
}

export function nextTheme(choice: ThemeChoice): ThemeChoice {
  return THEME_CHOICES[(THEME_CHOICES.indexOf(choice) + 1) % THEME_CHOICES.length] ?? "auto";
}

export function applyTheme(choice: ThemeChoice): void {
  localStorage.setItem(STORED, choice);
  document.documentElement.dataset["theme"] = themeOf(choice);
}

/** Follows the system while the choice is automatic. */
export function watchSystemTheme(): void {
  dark().addEventListener("change", () => applyTheme(storedTheme()));
}

const listeners = new Set<() => void>();
let observing = false;

/** For canvases, which must draw again with the other theme's colours. */
export function onThemeChange(listener: () => void): () => void {
  if (!observing) {
    observing = true;
    new MutationObserver(() => {
      for (const each of [...listeners]) each();
    }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }
  listeners.add(listener);
  return () => listeners.delete(listener);
}
