import type { ComponentChildren, FunctionComponent, JSX, RefObject } from 'preact';
import { VList, type VListHandle } from 'virtua';

export type { VListHandle } from 'virtua';

interface Given {
  readonly class: string;
  /** Items were added at the top: what is shown stays in its place. */
  readonly shift?: boolean;
  readonly tabIndex?: number;
  readonly handle?: RefObject<VListHandle | null>;
  readonly onScroll?: (offset: number) => void;
  readonly children: ComponentChildren;
}

/** The list is typed for React; the page runs it on Preact's compatible layer. */
const List = VList as unknown as FunctionComponent<
  Omit<Given, 'class' | 'handle'> & { className: string; ref?: RefObject<VListHandle | null> }
>;

/** Draws only the items that can be seen. */
export function VirtualList({ class: className, handle, ...given }: Given): JSX.Element {
  return <List {...given} className={className} {...(handle !== undefined && { ref: handle })} />;
}
