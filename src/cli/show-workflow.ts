import type { Step, Thread } from '../workflow/threads/thread.ts';
import { escapeControls, toPlainLine } from './plain-text.ts';
import { toTime } from './quantity.ts';
import { toTable } from './table.ts';

const CONTENT_CHARS = 100;
const HASH_CHARS = 12;

/** Names of workflows are lower case, so one look tells a thread from a workflow. */
export function isThread(text: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

export function toStepLine({ hash, role, timestamp, content = '', childThread }: Step): string {
  const child = childThread === undefined ? '' : ` [${childThread}]`;
  const text = toPlainLine(content.trimEnd(), CONTENT_CHARS);
  return `${hash.slice(0, HASH_CHARS)}  ${toTime(timestamp)}  ${escapeControls(role)}${child}  ${text}\n`;
}

export function toThreadTable(threads: readonly Thread[]): string {
  const headings = ['THREAD', 'STATE', 'UPDATED', 'HEAD', 'BUNDLE'];
  const rows = threads.map(({ id, state, updatedAt, head, bundle }) => [
    id,
    state,
    toTime(updatedAt),
    head.slice(0, HASH_CHARS),
    bundle.slice(0, HASH_CHARS),
  ]);
  return toTable(headings, rows);
}
