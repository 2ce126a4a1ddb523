/** A browser page without the server's token can do nothing but say so. */
import type { ReactNode } from "react";
import { Empty } from "../ui/states.tsx";

export function NoToken(): ReactNode {
  return (
    <main style={{ height: "100%" }}>
      <h1 className="visually-hidden">RLX Workbench</h1>
      <Empty title="This page needs the address that rlx serve printed">
        It carries a token that lets this page, and no other, talk to the engine. Copy the whole address from the
        terminal.
      </Empty>
    </main>
  );
}
