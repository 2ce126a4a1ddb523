/**
 * Server-sent events. The head goes out with the first event, so that what fails before it still has its own status; a client
 * that reads slowly is waited for, and one that does not read at all is left.
 */
import type { ServerResponse } from "node:http";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ApiError } from "./apiErrors.ts";

/** Seconds without a word after which proxies think that a connection is dead. */
const QUIET_MS = 15_000;
/** A client that takes nothing for so long is gone. */
const STUCK_MS = 60_000;

export class EventStream {
  readonly #response: ServerResponse;
  #quiet: ReturnType<typeof setTimeout> | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#listen();
  }

  get isOpen(): boolean {
    return this.#response.headersSent;
  }

  open(): void {
    if (this.isOpen || this.#response.destroyed) return;
    this.#response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    this.#response.flushHeaders();
  }

  /** `name`: the event's own, where an endpoint names its events. */
  async send(data: object | "[DONE]", name?: string): Promise<void> {
    this.open();
    const text = typeof data === "string" ? data : JSON.stringify(data);
    await this.#write(`${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`);
  }

  async fail(error: ApiError): Promise<void> {
    await this.send(error.body);
    this.end();
  }

  /** Leaves the response to others. */
  drop(): void {
    clearTimeout(this.#quiet);
  }

  end(): void {
    this.drop();
    if (!this.#response.destroyed) this.#response.end();
  }

  #listen(): void {
    clearTimeout(this.#quiet);
    if (this.#response.writableEnded || this.#response.destroyed) return;
    this.#quiet = setTimeout(() => {
      this.open();
      this.#write(": waiting\n\n").catch(() => undefined);
    }, QUIET_MS);
    this.#quiet.unref();
  }

  async #write(text: string): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) throw gone();
    this.#listen();
    if (response.write(text)) return;
    await new Promise<void>((resolve, reject) => {
      const stuck = setTimeout(() => response.destroy(), STUCK_MS);
      const end = (): void => {
        clearTimeout(stuck);
        response.off("drain", onDrain).off("close", onClose);
      };
      const onDrain = (): void => {
        end();
        resolve();
      };
      const onClose = (): void => {
        end();
        reject(gone());
      };
      response.on("drain", onDrain).on("close", onClose);
    });
  }
}

const gone = (): WorkbenchError => new WorkbenchError("CANCELLED", "[server] the client is gone");
