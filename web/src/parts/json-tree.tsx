import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { visible } from '../state/format.ts';
import { isFoundIn, useFinder } from './found.tsx';

const CHILDREN_MAX = 100;
const TEXT_MAX = 2000;

/** A value as a tree: small values are open, large ones open on request. Drawn level by level, so depth costs nothing. */
export function JsonTree({ value, open = true }: { value: unknown; open?: boolean }): JSX.Element {
  if (value === null || typeof value !== 'object') return <Leaf value={value} />;
  return <Branch value={value} open={open} />;
}

function Leaf({ value }: { value: unknown }): JSX.Element {
  if (typeof value === 'string') {
    const text = value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value;
    return <span class="json-text">{visible(JSON.stringify(text))}</span>;
  }
  return <span class="json-plain">{String(value)}</span>;
}

function Branch({ value, open }: { value: object; open: boolean }): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  const [shown, setShown] = useState(CHILDREN_MAX);
  const find = useFinder();
  useEffect(() => {
    if (isFoundIn(find, value)) setOpen(true);
  }, [find, value]);
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const label = isList ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details
      class="json"
      open={isOpen}
      onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}
    >
      <summary>{label}</summary>
      {isOpen && (
        <ul>
          {entries.slice(0, shown).map(([name, child]) => (
            <li key={name}>
              <b>{visible(name)}</b> <JsonTree value={child} open={false} />
            </li>
          ))}
          {entries.length > shown && (
            <li>
              <button type="button" onClick={() => setShown(shown + CHILDREN_MAX)}>
                {entries.length - shown} more
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}
