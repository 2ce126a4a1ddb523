/**
 * The transport as the contract sees it: something that carries frames both ways and ends once.
 * A MessagePort, a WebSocket and an in-memory pair all fit.
 */
export interface Port {
  /** Sends one frame. After the end of the port it does nothing. */
  send(frame: unknown): void;
  /** Resolves when little of what was sent still waits for the other side; undefined when that is so now. */
  readonly room?: () => Promise<void> | undefined;
  /** Sets the one receiver; frames that came before are delivered to it. */
  onMessage(listener: (frame: unknown) => void): void;
  /** Sets the one listener for the end, whichever side caused it; called once, also when it has already ended. */
  onClose(listener: (reason: string) => void): void;
  close(reason: string): void;
}

/** The bookkeeping every port needs: queue until there is a listener, end once. */
export interface PortInbox {
  readonly receive: (frame: unknown) => void;
  readonly end: (reason: string) => void;
  readonly ended: () => boolean;
  readonly onMessage: Port["onMessage"];
  readonly onClose: Port["onClose"];
}

export function createInbox(): PortInbox {
  const queue: unknown[] = [];
  let listener: ((frame: unknown) => void) | undefined;
  let closeListener: ((reason: string) => void) | undefined;
  let endReason: string | undefined;
  return {
    receive(frame) {
      if (endReason !== undefined) return;
      if (listener === undefined) queue.push(frame);
      else listener(frame);
    },
    end(reason) {
      if (endReason !== undefined) return;
      endReason = reason;
      closeListener?.(reason);
    },
    ended: () => endReason !== undefined,
    onMessage(next) {
      listener = next;
      for (const frame of queue.splice(0)) next(frame);
    },
    onClose(next) {
      closeListener = next;
      if (endReason !== undefined) next(endReason);
    },
  };
}

/** Counts bytes that were sent and have not left yet, for transports that say when they have. */
export interface Backlog {
  /** Adds bytes; the function that is returned takes them off again. */
  readonly add: (bytes: number) => () => void;
  readonly room: () => Promise<void> | undefined;
}

export function createBacklog(limit: number): Backlog {
  let waiting = 0;
  let wake: (() => void)[] = [];
  return {
    add(bytes) {
      waiting += bytes;
      return () => {
        waiting -= bytes;
        if (waiting > limit) return;
        for (const resolve of wake.splice(0)) resolve();
      };
    },
    room: () => (waiting <= limit ? undefined : new Promise((resolve) => (wake = [...wake, resolve]))),
  };
}

/** Two ends in one process; `transform` stands for what a real wire does to a frame (a clone, an encoding). */
export function createPortPair(transform: (frame: unknown) => unknown = (frame) => frame): readonly [Port, Port] {
  const inboxes = [createInbox(), createInbox()] as const;
  const side = (mine: PortInbox, theirs: PortInbox): Port => ({
    send(frame) {
      if (mine.ended()) return;
      const sent = transform(frame);
      queueMicrotask(() => theirs.receive(sent));
    },
    onMessage: mine.onMessage,
    onClose: mine.onClose,
    close(reason) {
      mine.end(reason);
      // After what was sent before, as on any wire.
      queueMicrotask(() => theirs.end(reason));
    },
  });
  return [side(inboxes[0], inboxes[1]), side(inboxes[1], inboxes[0])];
}
