import { createElement, type ComponentChildren, type JSX } from 'preact';
import type { IconNode } from 'lucide';
import { hrefOf, go } from '../state/app.ts';
import type { View } from '../state/address.ts';
import { ago, exactTime } from '../state/format.ts';
import type { ApiError } from '../api/http.ts';

// Small parts that every view uses.

/** A link inside the page. The browser keeps its own ways: new tab, new window, copy address. */
export function Go({
  to,
  class: name = '',
  style = {},
  isCurrent = false,
  children,
}: {
  to: View;
  class?: string;
  style?: Record<string, string>;
  isCurrent?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const onClick = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      class={name}
      style={style}
      href={hrefOf(to)}
      {...(isCurrent && { 'aria-current': 'page' })}
      onClick={onClick}
    >
      {children}
    </a>
  );
}

/** Nothing for a time that is none: some come from files of other programs. */
export function Time({ at }: { at: number }): JSX.Element | null {
  if (Number.isNaN(new Date(at).getTime())) return null;
  return (
    <time class="when" dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {ago(at)}
    </time>
  );
}

export function Icon({ of, label }: { of: IconNode; label?: string }): JSX.Element {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {of.map(([tag, attributes]) => createElement(tag, attributes as object))}
    </svg>
  );
}

/** Grey bars in the place of what is being loaded, of the same height. */
export function Skeleton({ rows = 6 }: { rows?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} />
      ))}
    </div>
  );
}

export function Trouble({ error, again }: { error: ApiError; again?: () => void }): JSX.Element {
  return (
    <div class="trouble" role="alert">
      <b>{error.code === 'NOT_FOUND' ? 'There is nothing here.' : 'This could not be loaded.'}</b>
      <p>{error.message}</p>
      {again !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** An empty place says what fills it. */
export function Empty({ title, command }: { title: string; command?: string }): JSX.Element {
  return (
    <div class="empty">
      <p>{title}</p>
      {command !== undefined && <code>{command}</code>}
    </div>
  );
}

export function KeyValues({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren] | undefined)[];
}): JSX.Element {
  return (
    <dl class="kv">
      {rows.map(
        (row) =>
          row !== undefined && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A colour for a branch: the same wherever it is named. */
export function laneColour(lane: number): string {
  return `var(--lane-${lane % 8})`;
}

/** Runs an action and says how it went. */
export async function attempt(
  work: () => Promise<unknown>,
  done: string,
  tell: (text: string) => void,
): Promise<boolean> {
  try {
    await work();
    tell(done);
    return true;
  } catch (error) {
    tell((error as Error).message);
    return false;
  }
}
