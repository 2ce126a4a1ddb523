/** What a transport needs of the engine: somewhere to bring a port. */
import type { Port } from "../contract/port.ts";

export interface Connectable {
  /** Serves the contract on this port until it ends. */
  connect(port: Port): void;
}
