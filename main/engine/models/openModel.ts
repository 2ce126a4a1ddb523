/**
 * One open model and everything that is made from it on demand: description, tokenizer, graphs. Handles are ids that are never
 * used twice; a closed model's id is unknown, not that of another.
 */
import type { CompileObserver } from "../../compiler/compile.ts";
import type { Overview } from "../../contract/views/model.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ModelDescription } from "../../models/describe.ts";
import { describeModel } from "../../models/describe.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import type { DevicePhase } from "../../runtime/devices/provider.ts";
import type { TextSubject } from "../text/subject.ts";
import type { WriteModel } from "./madeModel.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";

/**
 * Where a model's bytes are: all of them at a path, none (a header), still in the window that dropped it, or worked out from
 * another container at a path. `write` lays the last out as a GGUF for engines, which map files.
 */
export type ModelData =
  | { readonly kind: "paths"; readonly paths: readonly string[] }
  | { readonly kind: "made"; readonly path: string; readonly write: WriteModel }
  | { readonly kind: "none" }
  | { readonly kind: "remote" };

export interface ModelInit {
  readonly kind: Overview["kind"];
  /** undefined for a graph without a model. */
  readonly file: GgufFile | undefined;
  /** A graph that was opened as text. */
  readonly text?: TextSubject;
  readonly data: ModelData;
  readonly offer: string | undefined;
  /** What the command line calls it. */
  readonly argument: string | null;
  readonly openedInSeconds: number;
}

export class OpenModel {
  readonly id: string;
  readonly kind: Overview["kind"];
  readonly offer: string | undefined;
  /** Of its compiles. */
  readonly watch: CompileObserver | undefined;
  /** Its graphs for our own engines keep the newest positions of layers that see no others, as their decoders do. */
  readonly rings: boolean;
  #init: ModelInit;
  #description: ModelDescription | undefined;
  #tokenizer: Tokenizer | undefined;
  /** Made from this model by others (graphs, sessions), dropped with it. */
  readonly #attached = new Map<string, unknown>();
  readonly #disposers: (() => void)[] = [];
  readonly #former: GgufFile[] = [];
  /** Bytes that what was made of it takes. */
  readonly #held = new Map<string, number>();
  #disposed = false;

  constructor(
    id: string,
    init: ModelInit,
    { watch, rings = true }: { readonly watch?: CompileObserver; readonly rings?: boolean } = {},
  ) {
    this.id = id;
    this.kind = init.kind;
    this.offer = init.offer;
    this.watch = watch;
    this.rings = rings;
    this.#init = init;
  }

  get file(): GgufFile | undefined {
    return this.#init.file;
  }
  get text(): TextSubject | undefined {
    return this.#init.text;
  }
  /** A graph and no model. */
  get isGraphAlone(): boolean {
    return isGraphAlone(this.kind);
  }
  get data(): ModelData {
    return this.#init.data;
  }
  get argument(): string | null {
    return this.#init.argument;
  }
  get openedInSeconds(): number {
    return this.#init.openedInSeconds;
  }
  get path(): string | null {
    if (this.text !== undefined) return this.text.file?.path ?? null;
    if (this.data.kind === "made") return this.data.path;
    return this.data.kind === "paths" ? (this.data.paths[0] ?? null) : null;
  }

  /** Beside what results go: a file that was sent lies where nothing stays. */
  get placeOfResults(): string | null {
    return this.argument === null && this.text === undefined ? null : this.path;
  }

  requireFile(what: string): GgufFile {
    if (this.file) return this.file;
    throw new WorkbenchError("INPUT_ARGUMENT", `[${what}] got a graph without a model, expected the file of one`, {
      hint: "Open a model.",
    });
  }

  get description(): ModelDescription {
    this.#description ??= describeModel(this.requireFile("describe"));
    return this.#description;
  }

  /** Of the model, or the name of a graph. */
  get title(): string {
    if (this.file !== undefined) return this.description.title;
    return this.text?.graph?.name ?? this.text?.name ?? "graph";
  }

  /** Title and variant: two files of one model differ in it. */
  get label(): string {
    if (this.file === undefined) return this.title;
    const { title, variant } = this.description;
    return [title, variant].filter((part) => part !== "").join(" ");
  }

  get tokenizer(): Tokenizer {
    this.#tokenizer ??= createTokenizer(this.requireFile("tokenizer"));
    return this.#tokenizer;
  }

  /** Gives a header-only drop its data: the same file, found or sent. */
  attach(init: ModelInit): void {
    const before = this.requireFile("attach");
    const now = init.file;
    if (now?.headerHash !== before.headerHash || now.byteLength !== before.byteLength)
      throw new WorkbenchError(
        "INPUT_CHANGED",
        `[attach] ${now?.name ?? "the file"} is not the file that was opened: size or header differ`,
        {
          hint: "Choose the very file that was dropped.",
        },
      );
    // Closed with the model only: what is being read from it may go on.
    this.#former.push(before);
    this.#init = { ...init, openedInSeconds: this.#init.openedInSeconds };
    this.#attached.clear();
    this.#tokenizer = undefined;
  }

  /** Makes a value once per model and key. */
  cached<T>(key: string, make: () => T): T {
    if (!this.#attached.has(key)) this.#attached.set(key, make());
    return this.#attached.get(key) as T;
  }

  /** As `cached`, for what takes time: callers share what is being made, and a failure is forgotten. */
  async cachedLater<T>(key: string, make: () => Promise<T>): Promise<T> {
    const making = this.cached(key, make);
    try {
      return await making;
    } catch (error) {
      if (this.#attached.get(key) === making) this.#attached.delete(key);
      throw error;
    }
  }

  /** Notes what something that stays with the model takes. */
  hold(what: string, bytes: number): void {
    if (!this.#disposed) this.#held.set(what, bytes);
  }
  get heldBytes(): number {
    return [...this.#held.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** What is made for a model that was closed meanwhile goes at once. */
  onDispose(work: () => void): void {
    if (this.#disposed) work();
    else this.#disposers.push(work);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    this.#attached.clear();
    this.#held.clear();
    for (const work of this.#disposers.splice(0)) work();
    for (const file of [...this.#former.splice(0), this.file]) await file?.close();
  }
}

/** The paths of the files that it was opened from; throws where its weights are not on this machine. */
export function requirePaths({ data }: OpenModel, what: string): readonly string[] {
  if (data.kind === "paths") return data.paths;
  if (data.kind === "made") return [data.path];
  throw new WorkbenchError("INPUT_ARGUMENT", `[${what}] the weights of this model are not here`, {
    hint: "Open a file with weights, or name its folder.",
  });
}

/** Paths of files that engines can map. Another container is written as a GGUF first, once, and removed with the model. */
export async function mappablePaths(
  model: OpenModel,
  what: string,
  signal: AbortSignal,
  onPhase: (phase: DevicePhase) => void = () => undefined,
): Promise<readonly string[]> {
  const { data } = model;
  if (data.kind !== "made") return requirePaths(model, what);
  const { path } = await model.cachedLater("written as GGUF", async () => {
    onPhase({ name: "write", sentence: "Writing the weights as a GGUF, which engines can map", elapsedSeconds: 0 });
    const written = await data.write(model.requireFile(what), signal);
    model.onDispose(() => void written.remove());
    return written;
  });
  return [path];
}
