/**
 * Which windows were open when the app ended, by the sessions that they save: they come back with the next start. The page names
 * its session in its own address, so that the shell hears of another one without a message.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { sessionId } from "../../main/contract/views/session.ts";

/** Windows that come back; of a damaged list, none. */
const MOST_WINDOWS = 8;
const PARAMETER = "session";

export const withSession = (url: string, session: string): string => `${url}?${PARAMETER}=${session}`;

/** The session in a page's address. */
export function sessionOf(url: string): string | undefined {
  const read = sessionId.safeParse(URL.canParse(url) ? new URL(url).searchParams.get(PARAMETER) : null);
  return read.success ? read.data : undefined;
}

export function readOpenWindows(file: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const sessions = typeof value === "object" && value !== null ? (Reflect.get(value, "sessions") as unknown) : [];
    const known = (Array.isArray(sessions) ? sessions : []).filter((each) => sessionId.safeParse(each).success);
    return [...new Set(known as string[])].slice(0, MOST_WINDOWS);
  } catch {
    // The first start, or a list that cannot be read: a new window says more than an error.
    return [];
  }
}

/** Whole or not at all. What is in the way costs the next start its windows, and nothing else. */
export function writeOpenWindows(file: string, sessions: readonly string[]): void {
  try {
    const part = `${file}.part`;
    writeFileSync(part, JSON.stringify({ version: 1, sessions }));
    renameSync(part, file);
  } catch (error) {
    process.stderr.write(`The list of open windows could not be written: ${String(error)}\n`);
  }
}
