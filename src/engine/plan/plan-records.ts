import { QuipuError, invalid } from '../../base/errors.ts';
import type { DocChange, LogChange } from '../batch.ts';
import { assertJsonLine, assertJsonText } from '../json-text.ts';
import { assertFileName, assertName } from '../names.ts';
import {
  EMPTY_LOG,
  type DocState,
  type Draft,
  type FileKind,
  type LogDraft,
  type LogState,
} from './draft.ts';
import type { DocRecord } from '../../format/doc-record.ts';
import type { Report } from './report.ts';

export function planLog(draft: Draft, change: LogChange, report: Report): void {
  assertName(change.name, 'log name');
  if (change.do === 'remove') {
    const drafted = draft.logs.get(change.name);
    // The content of the log is not read, so a damaged log can be removed, too.
    const isThere = drafted === undefined ? draft.hasLog(change.name) : drafted.state !== undefined;
    if (!isThere) return;
    draft.logs.set(change.name, { state: undefined, removed: true, base: EMPTY_LOG, text: '' });
    report.logs.delete(change.name);
    report.removedLogs.push(change.name);
    report.changed = true;
    return;
  }
  const now = currentLog(draft, change.name);
  for (const [index, line] of change.lines.entries()) assertJsonLine(line, `line ${index}`);
  assertExpected(change.name, change.expectedLines, now.state?.lines ?? 0);
  if (change.lines.length === 0) return;
  if (now.state === undefined) claimFile(draft, change.name, 'log');
  const added = `${change.lines.join('\n')}\n`;
  const state: LogState = {
    lines: (now.state?.lines ?? 0) + change.lines.length,
    bytes: (now.state?.bytes ?? 0) + Buffer.byteLength(added),
    // A group writes one extent per log, however many of its batches append to the log.
    extents: now.base.extents + 1,
  };
  draft.logs.set(change.name, { ...now, state, text: now.text + added });
  report.logs.set(change.name, { name: change.name, lines: state.lines, bytes: state.bytes });
  report.changed = true;
}

function currentLog(draft: Draft, name: string): LogDraft {
  const drafted = draft.logs.get(name);
  if (drafted !== undefined) return drafted;
  const state = draft.getLogState(name);
  return { state, removed: false, base: state ?? EMPTY_LOG, text: '' };
}

export function planDoc(draft: Draft, change: DocChange, report: Report): void {
  const { name, content, publish = false } = change;
  assertName(name, 'document name');
  if (content !== undefined) assertJsonText(content, 'content');
  const old = currentDoc(draft, name);
  assertExpected(name, change.expectedVersion, old === undefined || old.removed ? 0 : old.version);
  if (content === undefined && (old === undefined || old.removed)) return;
  if (content !== undefined && publish) claimFile(draft, name, 'doc');
  const version = (old?.version ?? 0) + (content === undefined ? 0 : 1);
  writeDoc(draft, { name, version, content, published: publish });
  report.changed = true;
  if (content === undefined) {
    report.docs.delete(name);
    report.removedDocs.push(name);
  } else {
    report.docs.set(name, { name, version, content });
  }
}

export function currentDoc(draft: Draft, name: string): DocState | undefined {
  const drafted = draft.docs.get(name);
  if (drafted === undefined) return draft.view.findDoc(name);
  return { version: drafted.version, removed: drafted.content === undefined };
}

/** Gives a document its next version. Trusts its input. */
export function writeDoc(draft: Draft, doc: Omit<DocRecord, 'createdAt'>): void {
  draft.docs.set(doc.name, { ...doc, createdAt: draft.nowMs });
}

function assertExpected(name: string, expected: number | undefined, found: number): void {
  if (expected === undefined || expected === found) return;
  throw new QuipuError(
    'HEAD_MOVED',
    `${name} is at ${found}, not at ${expected}; read it and try again`,
    {
      context: name,
      expected: String(expected),
      head: String(found),
    },
  );
}

/**
 * Makes sure that a log or published document can be a plain file: its folder is one for such files, nothing else
 * has the name, and nothing above it is a file. At the disk it would be too late to refuse.
 */
export function claimFile(draft: Draft, name: string, as: 'log' | 'doc'): void {
  assertFileName(name);
  const there = kindOf(draft, name);
  if (there !== undefined && there !== as) {
    throw invalid('name', `${name} is taken by a ${there}; choose another one`);
  }
  const segments = name.split('/');
  for (let count = 1; count < segments.length; count += 1) {
    const above = segments.slice(0, count).join('/');
    const kind = kindOf(draft, above);
    if (kind === 'log' || kind === 'doc') {
      throw invalid('name', `${name} lies below ${above}, which is a ${kind}; choose another one`);
    }
    draft.fileKinds.set(above, 'folder');
  }
  draft.fileKinds.set(name, as);
}

function kindOf(draft: Draft, name: string): FileKind | undefined {
  return draft.fileKinds.get(name) ?? draft.fileKind(name);
}
