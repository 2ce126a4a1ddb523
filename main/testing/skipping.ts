/** Skips say why, and continuous integration has none that setup could have prevented. */

/** The reason, for the title of what is skipped, or undefined; with CI=true something that is missing is an error, never a skip. */
export function reasonToSkip(reason: string | undefined): string | undefined {
  if (reason !== undefined && process.env["CI"] === "true") throw new Error(`${reason} (required in CI)`);
  return reason;
}

/** The same of something that was looked for, where a text is the reason why it was not found. */
export const reasonNotFound = (found: unknown): string | undefined =>
  reasonToSkip(typeof found === "string" ? found : undefined);
