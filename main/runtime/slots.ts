/**
 * Sessions of one decoder for several answers at once. An answer takes an idle session, the one that holds the longest
 * beginning of its prompt. Another session is opened while all are taken, or where an answer would undo more of a conversation
 * than it uses again; up to a limit, and behind it answers wait in order.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Disposable } from "../ir/session.ts";
import type { DecoderSession } from "./decoderSession.ts";

/** What slots need of a session. */
export type SlotSession = Pick<DecoderSession, "shared" | "past" | "largestCacheBytes" | "dispose">;

export interface SlotOptions<Session extends SlotSession> {
  readonly open: () => Session;
  /** At most so many answers at once. */
  readonly most: number;
  /** Another session is opened only where its cache fits into what this tells. */
  readonly freeBytes: () => number;
}

interface Waiting<Session> {
  readonly prompt: ArrayLike<number>;
  readonly resolve: (session: Session) => void;
  readonly reject: (reason: unknown) => void;
}

/** Answers of one model at once. */
export const MOST_SLOTS = 8;

export class Slots<Session extends SlotSession = DecoderSession> implements Disposable {
  readonly #options: SlotOptions<Session>;
  /** Longest unused first. */
  readonly #idle: Session[] = [];
  readonly #taken = new Set<Session>();
  readonly #waiting: Waiting<Session>[] = [];
  #closed = false;

  constructor(options: SlotOptions<Session>) {
    this.#options = options;
  }

  /** Answers that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A session of its own for a job that does not wait and runs alone; undefined while there are answers. */
  takeAlone(): Session | undefined {
    if (this.#closed) throw closed();
    return this.#taken.size > 0 ? undefined : this.#take(this.#idle.at(-1) ?? this.#options.open());
  }

  /** A session for an answer to these tokens. Waits for one where all are taken. */
  async acquire(prompt: ArrayLike<number>, signal?: AbortSignal): Promise<Session> {
    if (this.#closed) throw closed();
    if (signal?.aborted === true) throw left();
    const found = this.#waiting.length === 0 ? this.#find(prompt) : undefined;
    if (found !== undefined) return found;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(left());
      };
      const waiting: Waiting<Session> = {
        prompt,
        resolve: (session) => {
          signal?.removeEventListener("abort", leave);
          resolve(session);
        },
        reject,
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
    });
  }

  release(session: Session): void {
    if (!this.#taken.delete(session)) return;
    if (this.#closed) return session.dispose();
    this.#idle.push(session);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const found = this.#find(next.prompt);
      if (found === undefined) return;
      this.#waiting.shift();
      next.resolve(found);
    }
  }

  /** Sessions that are taken go when they are released. */
  dispose(): void {
    this.#closed = true;
    for (const session of this.#idle.splice(0)) session.dispose();
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
  }

  #find(prompt: ArrayLike<number>): Session | undefined {
    const idle = this.#idle.map((session) => ({ session, shared: session.shared(prompt) }));
    const fitting = longest(idle.filter((each) => isWorthIt(each, prompt.length)));
    if (fitting !== undefined) return this.#take(fitting.session);
    if (this.#taken.size + idle.length === 0 || this.#hasRoom()) return this.#take(this.#options.open());
    const best = longest(idle);
    return best === undefined ? undefined : this.#take(best.session);
  }

  #hasRoom(): boolean {
    const one = this.#idle[0] ?? [...this.#taken][0];
    const count = this.#taken.size + this.#idle.length;
    return count < this.#options.most && (one?.largestCacheBytes ?? 0) <= this.#options.freeBytes();
  }

  #take(session: Session): Session {
    const at = this.#idle.indexOf(session);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#taken.add(session);
    return session;
  }
}

interface Idle<Session> {
  readonly session: Session;
  /** Tokens of the prompt that it holds. */
  readonly shared: number;
}

/** The first of those that hold the most. */
const longest = <Session>(idle: readonly Idle<Session>[]): Idle<Session> | undefined =>
  idle.reduce<Idle<Session> | undefined>((best, each) => (best && best.shared >= each.shared ? best : each), undefined);

/** The prompt again, or no more lost than used: the conversation whose cache it is may go on later. */
const isWorthIt = ({ session, shared }: Idle<SlotSession>, tokens: number): boolean =>
  shared >= tokens - 1 || session.past - shared <= shared;

const left = (): WorkbenchError =>
  new WorkbenchError("CANCELLED", "Cancelled while waiting for another answer to end.");
const closed = (): WorkbenchError =>
  new WorkbenchError("HANDLE_UNKNOWN", "[run] the model was closed while the answer waited for its turn", {
    hint: "Open it again.",
  });
