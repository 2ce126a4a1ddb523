// The few things that exist in every place where portable code runs (Node, Electron, browsers, workers).
// Anything that is not here and not ES2023 does not belong into portable code.

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
declare const AbortSignal: {
  abort(reason?: unknown): AbortSignal;
  timeout(milliseconds: number): AbortSignal;
};
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class TextDecoder {
  constructor(
    label?: "utf-8" | "utf-16le" | "latin1",
    options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean },
  );
  readonly encoding: string;
  decode(input?: ArrayBufferView | ArrayBuffer, options?: { readonly stream?: boolean }): string;
}
declare class TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { readonly read: number; readonly written: number };
}

declare const crypto: { getRandomValues<T extends Uint8Array | Uint32Array>(array: T): T };
declare const performance: { now(): number };
declare const console: {
  error(...values: readonly unknown[]): void;
  warn(...values: readonly unknown[]): void;
  info(...values: readonly unknown[]): void;
  debug(...values: readonly unknown[]): void;
};

/** Opaque on purpose: a number in browsers, an object in Node. */
interface TimerHandle {
  readonly "opaque timer": never;
}
declare function setTimeout(callback: () => void, milliseconds?: number): TimerHandle;
declare function clearTimeout(timer: TimerHandle | undefined): void;
declare function setInterval(callback: () => void, milliseconds?: number): TimerHandle;
declare function clearInterval(timer: TimerHandle | undefined): void;
declare function atob(base64: string): string;
declare function btoa(bytes: string): string;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;
