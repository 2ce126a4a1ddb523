/**
 * How a contract is described, and the types that follow from it: the engine must provide `Handlers` (a missing one is a
 * compile error), the window sees `EngineClient`. Inputs are checked by the serving side; outputs are checked in tests.
 */
import type { z } from "zod";

/** Views are read-only on both sides; typed arrays are leaves. */
export type DeepReadonly<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends ArrayBufferView
    ? T
    : T extends readonly (infer E)[]
      ? readonly DeepReadonly<E>[]
      : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** The value that a schema describes. */
export type View<S extends z.ZodType> = DeepReadonly<z.output<S>>;

export interface CallDefinition<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  readonly kind: "call";
  readonly input: I;
  readonly output: O;
}

export interface StreamDefinition<I extends z.ZodType = z.ZodType, T extends z.ZodType = z.ZodType> {
  readonly kind: "stream";
  readonly input: I;
  readonly item: T;
}

export interface EventDefinition<P extends z.ZodType = z.ZodType> {
  readonly kind: "event";
  readonly payload: P;
}

export const call = <I extends z.ZodType, O extends z.ZodType>(input: I, output: O): CallDefinition<I, O> => ({
  kind: "call",
  input,
  output,
});

export const stream = <I extends z.ZodType, T extends z.ZodType>(input: I, item: T): StreamDefinition<I, T> => ({
  kind: "stream",
  input,
  item,
});

export const event = <P extends z.ZodType>(payload: P): EventDefinition<P> => ({ kind: "event", payload });

export interface AnyContract {
  readonly version: number;
  readonly calls: { readonly [name: string]: CallDefinition };
  readonly streams: { readonly [name: string]: StreamDefinition };
  readonly events: { readonly [name: string]: EventDefinition };
}

export type CallName<C extends AnyContract> = keyof C["calls"] & string;
export type StreamName<C extends AnyContract> = keyof C["streams"] & string;
export type EventName<C extends AnyContract> = keyof C["events"] & string;

/** What a caller writes: fields with a default may be left out. */
export type CallInput<C extends AnyContract, K extends CallName<C>> = DeepReadonly<z.input<C["calls"][K]["input"]>>;
export type CallOutput<C extends AnyContract, K extends CallName<C>> = View<C["calls"][K]["output"]>;
export type StreamInput<C extends AnyContract, K extends StreamName<C>> = DeepReadonly<
  z.input<C["streams"][K]["input"]>
>;
export type StreamItem<C extends AnyContract, K extends StreamName<C>> = View<C["streams"][K]["item"]>;
export type EventPayload<C extends AnyContract, K extends EventName<C>> = View<C["events"][K]["payload"]>;

export interface CallContext {
  /** Fires when the caller cancels, leaves a stream, or the connection ends. Work ends within 100 ms of it. */
  readonly signal: AbortSignal;
  /** Registers what frees something that the caller holds: called when its connection has ended, and its requests too. */
  readonly onLeave: (free: () => void | Promise<void>) => void;
}

/** What the engine implements: every call and every stream of the contract. */
export interface Handlers<C extends AnyContract> {
  readonly calls: {
    readonly [K in CallName<C>]: (
      input: View<C["calls"][K]["input"]>,
      context: CallContext,
    ) => Promise<CallOutput<C, K>> | CallOutput<C, K>;
  };
  readonly streams: {
    readonly [K in StreamName<C>]: (
      input: View<C["streams"][K]["input"]>,
      context: CallContext,
    ) => AsyncIterable<StreamItem<C, K>>;
  };
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export type ConnectionState = "connecting" | "connected" | "lost" | "closed";

/** What the window sees of the engine. */
export interface EngineClient<C extends AnyContract> {
  call<K extends CallName<C>>(method: K, input: CallInput<C, K>, options?: RequestOptions): Promise<CallOutput<C, K>>;
  /**
   * Items arrive as they are consumed (credits). After an abort the remaining items are still
   * delivered; leaving the loop drops the stream.
   */
  stream<K extends StreamName<C>>(
    method: K,
    input: StreamInput<C, K>,
    options?: RequestOptions,
  ): AsyncIterableIterator<StreamItem<C, K>>;
  on<K extends EventName<C>>(name: K, listener: (payload: EventPayload<C, K>) => void): () => void;
  readonly state: ConnectionState;
  /** The version that the engine speaks, when that is not this side's: then it is not talked to. */
  readonly otherVersion: number | null;
  onState(listener: (state: ConnectionState) => void): () => void;
}
