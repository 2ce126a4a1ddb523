/** Messages for the page: files that the system opens, menu commands. They wait until a page listens. */
import type { CHANNELS } from "../channels.ts";

export type Channel = (typeof CHANNELS)["command" | "openFile"];
type Receiver = (channel: Channel, text: string) => void;

export interface Mailbox {
  /** Delivers now, or when a page listens. */
  post(channel: Channel, text: string): void;
  /** Sets the receiver. Waiting messages come first. */
  deliverTo(receiver: Receiver): void;
  /** The receiver is gone. */
  hold(): void;
}

export function createMailbox(): Mailbox {
  const waiting: (readonly [channel: Channel, text: string])[] = [];
  let receiver: Receiver | undefined;
  return {
    post(channel, text) {
      if (receiver) receiver(channel, text);
      else waiting.push([channel, text]);
    },
    deliverTo(next) {
      receiver = next;
      for (const [channel, text] of waiting.splice(0)) next(channel, text);
    },
    hold() {
      receiver = undefined;
    },
  };
}
