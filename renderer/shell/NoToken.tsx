/** A page without the server's token says how to get an address. */
import type { ReactNode } from "react";
import { Empty } from "../ui/states.tsx";

export function NoToken(): ReactNode {
  return (
    <main style={{ height: "100%" }}>
      <h1 className="visually-hidden">RLX Workbench</h1>
      <Empty title="This page needs an address from rlx serve">
        An address works once, in one tab. Copy the last one that rlx serve printed in its terminal.
      </Empty>
    </main>
  );
}
