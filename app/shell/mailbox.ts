/** What the page is to be told: files that the system opens, commands of the menu. They wait while there is no page to tell. */
import type { CHANNELS } from "../channels.ts";

export type Channel = (typeof CHANNELS)["command" | "openFile"];
type Receiver = (channel: Channel, text: string) => void;

export interface Mailbox {
  /** Now, or when there is somebody to give it to. */
  post(channel: Channel, text: string): void;
  /** From now on all goes here; what waited goes first. */
  deliverTo(receiver: Receiver): void;
  /** There is nobody any more. */
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
