/**
 * The header of a file that only the window can read: the reader asks a source for ranges, the source passes each request on to
 * the window and waits for the bytes. Files that were dropped beside it are siblings, read in the same way. Done when the header
 * has parsed, some ranges of its weights are known and the file was looked for on this disk; the parsed file has a header but no
 * data.
 */
import type { HeaderNeed } from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource, SiblingOpener } from "../../formats/byteSource.ts";
import { checkRange } from "../../formats/byteSource.ts";
import { randomId } from "../random.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openModelFile } from "../../formats/openModel.ts";
import type { DroppedBeside } from "../services.ts";

interface Request {
  /** The sibling to read; null for the file itself. */
  readonly file: string | null;
  readonly offset: number;
  readonly length: number;
  readonly give: (bytes: Uint8Array) => void;
  readonly fail: (error: Error) => void;
}

/** What happens next: the reader wants bytes, or it is finished. */
type Step =
  | { readonly kind: "need"; readonly request: Request }
  | { readonly kind: "done"; readonly header: ReadHeader; readonly foundPath: string | null };

interface Feed {
  step: Promise<Step>;
  request: Request | undefined;
  ready: ReadHeader | undefined;
}

interface ReadHeader {
  readonly file: GgufFile;
  /** From the first question to the parsed header, with the window's answers in between. */
  readonly seconds: number;
}

export interface Headers {
  begin(name: string, size: number, others?: DroppedBeside): Promise<HeaderNeed>;
  feed(header: string, offset: number, bytes: Uint8Array): Promise<HeaderNeed>;
  /** The window that was asked is gone. */
  drop(header: string): void;
  /** The finished header; it is handed out once. */
  take(header: string): ReadHeader;
}

/** Headers that were begun and left; the oldest goes first. */
const MOST = 16;

/** Looks for the dropped file on this disk. May read ranges of it through the window. */
type FindWhole = (file: GgufFile) => Promise<string | null>;

export function createHeaders(findWhole: FindWhole): Headers {
  const feeds = new Map<string, Feed>();

  const answer = async (id: string, feed: Feed): Promise<HeaderNeed> => {
    const step = await feed.step.catch((error: unknown) => {
      feeds.delete(id);
      throw error;
    });
    if (step.kind === "need") {
      feed.request = step.request;
      const { file, offset, length } = step.request;
      return { kind: "more", header: id, file, offset, length };
    }
    feed.ready = step.header;
    return { kind: "ready", header: id, foundPath: step.foundPath };
  };

  return {
    begin(name, size, others = {}) {
      for (const [old, feed] of feeds) {
        if (feeds.size < MOST) break;
        feed.request?.fail(new WorkbenchError("CANCELLED", "Another file was dropped."));
        feeds.delete(old);
      }
      const id = randomId();
      const feed = startFeed({ name, size, ...others }, findWhole);
      feeds.set(id, feed);
      return answer(id, feed);
    },
    async feed(id, offset, bytes) {
      const feed = feeds.get(id);
      const request = feed?.request;
      if (!feed || !request)
        throw new WorkbenchError("HANDLE_UNKNOWN", "[header] these bytes were not asked for", {
          hint: "Drop the file again.",
        });
      if (offset !== request.offset || bytes.byteLength !== request.length)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[header] got ${bytes.byteLength} bytes at ${offset}, expected ${request.length} at ${request.offset}`,
        );
      feed.request = undefined;
      request.give(bytes);
      return answer(id, feed);
    },
    drop(id) {
      feeds.get(id)?.request?.fail(new WorkbenchError("CANCELLED", "The window was closed."));
      feeds.delete(id);
    },
    take(id) {
      const ready = feeds.get(id)?.ready;
      if (!ready)
        throw new WorkbenchError("HANDLE_UNKNOWN", "[header] this header is not complete", {
          hint: "Drop the file again.",
        });
      feeds.delete(id);
      return ready;
    },
  };
}

interface Dropped extends DroppedBeside {
  readonly name: string;
  readonly size: number;
}

function startFeed({ name, size, folder = null, beside = [] }: Dropped, findWhole: FindWhole): Feed {
  const begun = performance.now();
  let announce: (step: Step) => void = () => undefined;
  let refuse: (error: unknown) => void = () => undefined;
  const feed: Feed = {
    step: Promise.resolve({ kind: "need" } as never),
    request: undefined,
    ready: undefined,
  };
  const renew = (): void => {
    feed.step = new Promise<Step>((resolve, reject) => {
      announce = resolve;
      refuse = reject;
    });
    // The step is always awaited by the call that feeds it; until then a rejection must not count as unhandled.
    feed.step.catch(() => undefined);
  };
  renew();
  const ask = (file: string | null, offset: number, length: number): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const give = (bytes: Uint8Array): void => {
        renew();
        resolve(bytes);
      };
      announce({ kind: "need", request: { file, offset, length, give, fail: reject } });
    });
  /** The window is asked one question at a time, and none when the header is complete. */
  let last: Promise<unknown> = Promise.resolve();
  let isComplete = false;
  const sourceOf = (file: string | null, facts: Pick<ByteSource, "name" | "byteLength">): ByteSource => ({
    ...facts,
    async read(offset, length) {
      checkRange(facts, offset, length);
      if (isComplete) throw onlyTheHeader(facts.name);
      const answer = last.then(() => ask(file, offset, length));
      last = answer.catch(() => undefined);
      return answer;
    },
    close: async () => undefined,
  });
  const sizes = new Map(beside.map((each) => [each.name, each.size]));
  const openSibling: SiblingOpener = async (sibling) => {
    const byteLength = sizes.get(sibling);
    return byteLength === undefined ? undefined : sourceOf(sibling, { name: sibling, byteLength });
  };
  const work = async (): Promise<void> => {
    // A folder is named by itself, as where its path is known.
    const source = sourceOf(null, { name: folder ?? name, byteLength: size });
    const file = await openModelFile(source, { openSibling });
    const header = { file, seconds: (performance.now() - begun) / 1000 };
    const foundPath = await findWhole(file);
    isComplete = true;
    announce({ kind: "done", header, foundPath });
  };
  work().catch((error: unknown) => refuse(error));
  return feed;
}

const onlyTheHeader = (name: string): WorkbenchError =>
  new WorkbenchError("INPUT_NOT_FOUND", `[${name}] only the header of this file is here, expected all of it`, {
    hint: "Name its folder, or send the file here.",
  });
