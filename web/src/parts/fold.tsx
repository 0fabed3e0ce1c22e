import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../state/format.ts';
import { useFinder } from './found.tsx';

export function Fold({
  label,
  detail,
  state,
  note,
  open = false,
  children,
}: {
  label: string;
  detail?: string;
  state?: ComponentChildren;
  note?: ComponentChildren;
  open?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  // What is searched for may stand inside; then the fold is opened.
  const isSearched = useFinder() !== undefined;
  return (
    <details
      class="fold"
      open={isOpen}
      onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}
    >
      <summary>
        <b>{visible(label)}</b>
        {detail !== undefined && detail !== '' && <code>{detail}</code>}
        {state}
        <span class="note">{note}</span>
      </summary>
      {(isOpen || isSearched) && <div class="body">{children}</div>}
    </details>
  );
}
