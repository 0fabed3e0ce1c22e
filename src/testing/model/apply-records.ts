import { QuipuError } from '../../base/errors.ts';
import type { BlobPut, DocChange, LogChange } from '../../engine/batch.ts';
import { assertJsonLine, assertJsonText } from '../../engine/json-text.ts';
import { assertFileName, assertName } from '../../engine/names.ts';
import type { Draft } from './draft.ts';

export function applyBlob(draft: Draft, put: BlobPut): void {
  const { blobs, blobTimes, sha256 } = draft.state;
  if (!blobs.has(put.hash)) draft.set(blobs, put.hash, new Uint8Array(put.bytes));
  // Listeners do not hear of this change.
  blobTimes.set(put.hash, draft.nowMs);
  if (put.sha256 !== undefined && !sha256.has(put.sha256)) draft.set(sha256, put.sha256, put.hash);
}

export function applyLog(draft: Draft, change: LogChange): void {
  const { logs } = draft.state;
  assertName(change.name, 'log name');
  const lines = logs.get(change.name);
  if (change.do === 'remove') {
    if (lines === undefined) return;
    draft.delete(logs, change.name);
    draft.removedLogs.push(change.name);
    return;
  }
  for (const [index, line] of change.lines.entries()) assertJsonLine(line, `line ${index}`);
  assertExpected(change.name, change.expectedLines, lines?.length ?? 0);
  if (change.lines.length === 0) return;
  if (lines === undefined) assertFileName(change.name);
  draft.set(logs, change.name, [...(lines ?? []), ...change.lines]);
  draft.logs.add(change.name);
}

export function applyDoc(draft: Draft, change: DocChange): void {
  const { docs } = draft.state;
  const { name, content } = change;
  assertName(name, 'document name');
  if (content !== undefined) assertJsonText(content, 'content');
  const old = docs.get(name);
  assertExpected(name, change.expectedVersion, draft.state.getDoc(name)?.version ?? 0);
  if (content !== undefined && change.publish === true) assertFileName(name);
  if (content !== undefined) {
    const version = (old?.row.version ?? 0) + 1;
    const published = change.publish ?? false;
    draft.set(docs, name, { row: { name, version, content }, removed: false, published });
    draft.docs.add(name);
  } else if (old !== undefined && !old.removed) {
    draft.set(docs, name, { ...old, removed: true });
    draft.removedDocs.push(name);
  }
}

function assertExpected(name: string, expected: number | undefined, found: number): void {
  if (expected === undefined || expected === found) return;
  throw new QuipuError('HEAD_MOVED', `${name} is at ${found}, not at ${expected}`, {
    context: name,
    expected: String(expected),
    head: String(found),
  });
}
