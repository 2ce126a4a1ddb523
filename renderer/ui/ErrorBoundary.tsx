/** Shown where a part of the window fails to draw: the rest goes on, the fault can be copied. */
import type { ReactNode } from "react";
import { Component } from "react";
import { ErrorNote } from "./ErrorNote.tsx";

interface Props {
  readonly title: string;
  readonly children: ReactNode;
}
interface State {
  readonly failure: { readonly message: string; readonly stack: string } | null;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failure: null };

  static getDerivedStateFromError(error: unknown): State {
    return {
      failure:
        error instanceof Error
          ? { message: error.message, stack: error.stack ?? "" }
          : { message: String(error), stack: "" },
    };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <div style={{ maxWidth: 520, margin: "10vh auto 0", padding: "0 20px" }}>
        <ErrorNote
          title={this.props.title}
          error={{
            code: "BUG_UNEXPECTED",
            message: failure.message,
            hint: "This is a fault of the workbench; please report it with the details.",
            details: { stack: failure.stack },
          }}
          onRetry={() => this.setState({ failure: null })}
        />
      </div>
    );
  }
}
