/** Reasons of skipped tests. CI allows no skip that setup could have prevented. */

/** The reason for the test's title, or undefined. With CI=true a missing part is an error. */
export function reasonToSkip(reason: string | undefined): string | undefined {
  if (reason !== undefined && process.env["CI"] === "true") throw new Error(`${reason} (required in CI)`);
  return reason;
}

/** As above, for a lookup that returns a text as the reason why nothing was found. */
export const reasonNotFound = (found: unknown): string | undefined =>
  reasonToSkip(typeof found === "string" ? found : undefined);
