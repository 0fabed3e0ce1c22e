import { diffLines } from 'diff';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { isFields, textOf } from '../shapes/shown.ts';
import { visible } from '../state/format.ts';

// Edits shown as diffs, whether a tool was given the text before and after, or a patch.

export interface DiffLine {
  readonly sort: 'added' | 'removed' | 'same' | 'place';
  readonly text: string;
}

const LINES_MAX = 400;
const CHARS_MAX = 100_000;

/** The edit that a call makes, or undefined for other calls. */
export function editOf(input: unknown): DiffLine[] | undefined {
  if (!isFields(input)) {
    return typeof input === 'string' && isPatch(input) ? patchLines(input) : undefined;
  }
  const patch = textOf(input['patch']) ?? textOf(input['diff']) ?? textOf(input['input']);
  if (patch !== undefined && isPatch(patch)) return patchLines(patch);
  if (Array.isArray(input['edits'])) {
    const parts = input['edits'].map((edit) => editOf(edit) ?? []);
    return parts.some((part) => part.length > 0) ? parts.flat() : undefined;
  }
  const before =
    textOf(input['old_string']) ?? textOf(input['oldText']) ?? textOf(input['old_str']);
  const after = textOf(input['new_string']) ?? textOf(input['newText']) ?? textOf(input['new_str']);
  if (before === undefined || after === undefined) return undefined;
  return compare(before, after);
}

export function compare(before: string, after: string): DiffLine[] {
  const parts =
    before.length + after.length > CHARS_MAX
      ? [
          { removed: true, added: false, value: before },
          { removed: false, added: true, value: after },
        ]
      : diffLines(before, after);
  return parts.flatMap(({ added, removed, value }) =>
    linesOf(value).map((text): DiffLine => ({
      sort: added ? 'added' : removed ? 'removed' : 'same',
      text,
    })),
  );
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function isPatch(text: string): boolean {
  return /^(?:\*\*\* Begin Patch|@@ |--- |diff --git)/m.test(text.slice(0, 4000));
}

function patchLines(patch: string): DiffLine[] {
  return linesOf(patch).map((line): DiffLine => {
    if (/^(?:@@|\*\*\*|---|\+\+\+|diff --git|index )/.test(line))
      return { sort: 'place', text: line };
    if (line.startsWith('+')) return { sort: 'added', text: line.slice(1) };
    if (line.startsWith('-')) return { sort: 'removed', text: line.slice(1) };
    return { sort: 'same', text: line.replace(/^ /, '') };
  });
}

export function changeCounts(lines: readonly DiffLine[]): { added: number; removed: number } {
  const of = (sort: DiffLine['sort']): number => lines.filter((line) => line.sort === sort).length;
  return { added: of('added'), removed: of('removed') };
}

const SIGNS = { added: '+', removed: '-', same: ' ', place: '' } as const;

export function Diff({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  const shown = useMemo(() => lines.slice(0, LINES_MAX), [lines]);
  return (
    <pre class="diff">
      {shown.map(({ sort, text }, at) => (
        <span key={at} class={sort}>
          {`${SIGNS[sort]} ${visible(text.slice(0, 2000))}`}
        </span>
      ))}
      {lines.length > LINES_MAX && (
        <span class="place">{`… ${lines.length - LINES_MAX} lines more`}</span>
      )}
    </pre>
  );
}
