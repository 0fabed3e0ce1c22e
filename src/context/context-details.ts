import { canonicalJson } from '../base/canonical-json.ts';
import { QuipuError, invalid, tooLarge } from '../base/errors.ts';
import type { UnnamedMeta } from '../engine/batch.ts';
import type { ContextMeta } from '../engine/rows.ts';
import { checkBounded, checkLine, kindOf } from '../base/text.ts';
import type { ContextDetails, ContextUpdate } from './contexts.ts';
import {
  KIND_CHARS_MAX,
  LABELS_MAX,
  LABEL_CHARS_MAX,
  META_BYTES_MAX,
  NAME_BYTES_MAX,
  TITLE_CHARS_MAX,
} from './limits.ts';

/** Returns the details of a new context, checked and no longer shared with the caller. */
export function checkDetails(given: ContextDetails & { readonly name?: string }): ContextMeta {
  const { name } = given;
  return {
    ...(name !== undefined && { name: checkContextName(name) }),
    ...mergeDetails({}, given),
  };
}

export function checkContextName(name: string): string {
  return checkBounded(name, 'name', NAME_BYTES_MAX);
}

/** Returns the details after `change`: fields given replace, null removes, the rest stay. */
export function mergeDetails(now: UnnamedMeta, change: ContextUpdate): UnnamedMeta {
  const { title = now.title, kind = now.kind, labels = now.labels, meta = now.meta } = change;
  return {
    ...(title !== undefined && title !== null && { title: checkTitle(title) }),
    ...(kind !== undefined && kind !== null && { kind: checkLine(kind, 'kind', KIND_CHARS_MAX) }),
    ...(labels !== undefined && labels !== null && { labels: checkLabels(labels) }),
    ...(meta !== undefined && meta !== null && { meta: checkMeta(meta) }),
  };
}

function checkTitle(title: string): string {
  return checkLine(title, 'title', TITLE_CHARS_MAX);
}

/** Keeps each label once, in the order given. */
function checkLabels(labels: readonly string[]): string[] {
  if (!Array.isArray(labels))
    throw invalid('labels', `must be an array of strings, got ${kindOf(labels)}`);
  if (labels.length > LABELS_MAX) {
    throw invalid('labels', `may have at most ${LABELS_MAX} labels, got ${labels.length}`);
  }
  const checked = new Set<string>();
  for (const label of labels) {
    if (label === '') throw invalid('labels', 'has an empty label');
    checked.add(checkLine(label, 'labels', LABEL_CHARS_MAX));
  }
  return [...checked];
}

function checkMeta(meta: unknown): unknown {
  let text: string;
  try {
    text = canonicalJson(meta);
  } catch (error) {
    throw new QuipuError('INVALID', 'meta is not JSON', { what: 'meta' }, { cause: error });
  }
  const size = Buffer.byteLength(text);
  if (size > META_BYTES_MAX) {
    throw tooLarge(
      'meta',
      META_BYTES_MAX,
      size,
      `meta takes ${size} bytes, and ${META_BYTES_MAX} are allowed`,
    );
  }
  return JSON.parse(text) as unknown;
}
