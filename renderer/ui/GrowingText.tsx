/** A text field that is as tall as its text, wrapped lines too; above the height that its class allows it scrolls. */
import type { ComponentProps, ReactNode, RefObject } from "react";
import { useEffect, useLayoutEffect, useRef } from "react";

export interface GrowingTextProps extends Omit<ComponentProps<"textarea">, "ref" | "rows" | "value"> {
  readonly value: string;
  readonly field?: RefObject<HTMLTextAreaElement | null>;
}

const fit = (element: HTMLTextAreaElement): void => {
  element.style.height = "auto";
  // Of the borders, which the height of the text does not hold.
  const edges = element.offsetHeight - element.clientHeight;
  element.style.height = `${element.scrollHeight + edges}px`;
};

export function GrowingText({ value, field, ...rest }: GrowingTextProps): ReactNode {
  const own = useRef<HTMLTextAreaElement>(null);
  const ref = field ?? own;
  useLayoutEffect(() => {
    if (ref.current !== null) fit(ref.current);
  }, [ref, value]);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    let width = element.clientWidth;
    // Another width wraps the text otherwise.
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      fit(element);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return <textarea {...rest} ref={ref} rows={1} value={value} />;
}
