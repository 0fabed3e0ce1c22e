import { NO_TURN, toTurnId, type TurnId, type TurnIdLike } from '../base/brand.ts';
import { checkBoolean, checkNames, checkWhole } from '../base/check-value.ts';
import { invalid, QuipuError, tooLarge } from '../base/errors.ts';
import { checkBounded, checkLine, kindOf } from '../base/text.ts';
import type { Batch, UnnamedMeta } from '../engine/batch.ts';
import type { ContextQuery, TimeRange } from '../engine/engine.ts';
import type {
  GivenRange,
  AppendOptions,
  ListOptions,
  MoveOptions,
  OpenTurnOptions,
  ReadOptions,
  ContextDetails,
  ContextUpdate,
} from './contexts.ts';
import { checkMeta } from './meta-condition.ts';
import {
  KEY_BYTES_MAX,
  KIND_CHARS_MAX,
  LABEL_CHARS_MAX,
  LIST_LIMIT_DEFAULT,
  NAME_BYTES_MAX,
  PAGE_BYTES_DEFAULT,
  PAGE_TURNS_MAX,
  TYPE_BYTES_MAX,
  VERSION_MAX,
  LABELS_MAX,
  META_BYTES_MAX,
  TITLE_CHARS_MAX,
} from './limits.ts';
import type { PatchesInForce } from './turn.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import type { ContextMeta } from '../engine/rows.ts';

/** Read options with the defaults filled in. */
export interface CheckedRead {
  /** A number: only payloads of at most this many bytes. */
  readonly payload: boolean | number;
  readonly as: PatchesInForce;
  readonly maxBytes: number;
}

export interface Placement {
  readonly parent?: TurnId;
  readonly expectedHead?: TurnId;
}

export function checkRead(
  options: ReadOptions,
  maxBytesDefault: number = PAGE_BYTES_DEFAULT,
): CheckedRead {
  const { payload = true, as = 'latest', maxBytes = maxBytesDefault } = options;
  if (typeof payload === 'number') checkWhole(payload, 'payload', 0, Number.MAX_SAFE_INTEGER);
  else if (typeof payload !== 'boolean') {
    throw invalid('payload', `must be a boolean or a number of bytes, got ${kindOf(payload)}`);
  }
  if (as !== 'latest' && as !== 'original' && !(Number.isSafeInteger(as) && as >= 0)) {
    throw invalid(
      'as',
      `must be 'latest', 'original' or a patch's sequence number, got ${String(as)}`,
    );
  }
  return { payload, as, maxBytes: checkWhole(maxBytes, 'maxBytes', 0, Number.MAX_SAFE_INTEGER) };
}

export function checkType(type: unknown): string {
  const text = checkBounded(type, 'type', TYPE_BYTES_MAX);
  if (/\p{Cc}/u.test(text)) throw invalid('type', 'has a control character');
  return text;
}

export function checkVersion(version: number = 1): number {
  return checkWhole(version, 'version', 0, VERSION_MAX);
}

/** Checks the place of a new turn. `parent: 0` makes it a new root: leave it out for the head. */
export function checkPlacement(options: OpenTurnOptions): Placement {
  const { parent, expectedHead } = options;
  return {
    ...(parent !== undefined && { parent: toTurnId(parent, true) }),
    ...(expectedHead !== undefined && { expectedHead: toTurnId(expectedHead, true) }),
  };
}

/** Returns the new context for the head that a call leaves, as a part of its batch. */
export function checkKept({ expectedHead, keepHead }: MoveOptions): Pick<Batch, 'contexts'> {
  if (keepHead === undefined) return {};
  if (expectedHead === undefined) throw invalid('expectedHead', 'is missing; keepHead needs it');
  const base = toTurnId(expectedHead, true);
  const meta = checkDetails(keepHead);
  return base === NO_TURN ? {} : { contexts: [{ do: 'create', base, meta }] };
}

export function checkKey(options: Pick<AppendOptions, 'idempotencyKey'>): string | undefined {
  const { idempotencyKey } = options;
  if (idempotencyKey === undefined) return undefined;
  return checkBounded(idempotencyKey, 'idempotencyKey', KEY_BYTES_MAX);
}

const LIST_OPTIONS: Record<keyof ListOptions, true> = {
  label: true,
  kind: true,
  namePrefix: true,
  meta: true,
  created: true,
  updated: true,
  count: true,
  limit: true,
  cursor: true,
};

export function checkList(options: ListOptions): ContextQuery {
  const { label, kind, namePrefix, meta, created, updated } = options;
  const { limit = LIST_LIMIT_DEFAULT, cursor, count = false } = options;
  // A condition that is misspelled would list all contexts.
  checkNames(options, LIST_OPTIONS, 'list');
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw invalid('cursor', `must be a string from the page before, got ${kindOf(cursor)}`);
  }
  return {
    limit: checkWhole(limit, 'limit', 0, PAGE_TURNS_MAX),
    ...(label !== undefined && { label: checkLine(label, 'label', LABEL_CHARS_MAX) }),
    ...(kind !== undefined && { kind: checkLine(kind, 'kind', KIND_CHARS_MAX) }),
    ...(namePrefix !== undefined && { namePrefix: checkPrefix(namePrefix) }),
    ...(meta !== undefined && { fields: checkMeta(meta) }),
    ...(created !== undefined && checkRange('created', created)),
    ...(updated !== undefined && checkRange('updated', updated)),
    ...(checkBoolean(count, 'count') && { count }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** Nothing for a range without ends: an older server knows of no range. */
function checkRange<Name extends 'created' | 'updated'>(
  name: Name,
  range: GivenRange,
): { readonly [N in Name]?: TimeRange } {
  if (typeof range !== 'object' || range === null) {
    throw invalid(name, `must be an object with since and until, got ${kindOf(range)}`);
  }
  const { since, until } = range;
  if (since === undefined && until === undefined) return {};
  const ends = {
    ...(since !== undefined && { since: checkTime(since, `${name}.since`) }),
    ...(until !== undefined && { until: checkTime(until, `${name}.until`) }),
  };
  return { [name]: ends } as { readonly [N in Name]: TimeRange };
}

function checkTime(given: number | Date, what: string): number {
  const time = given instanceof Date ? given.getTime() : given;
  return checkWhole(time, what, 0, Number.MAX_SAFE_INTEGER);
}

/** The empty prefix is one that every name has. */
function checkPrefix(prefix: string): string {
  return prefix === '' ? prefix : checkBounded(prefix, 'namePrefix', NAME_BYTES_MAX);
}

/** Checks a patch's sequence number to compare with; 0 stands for "not patched". */
export function checkExpectedSeq(options: { readonly expectedSeq?: number }): {
  expectedSeq?: number;
} {
  const { expectedSeq } = options;
  if (expectedSeq === undefined) return {};
  return { expectedSeq: checkWhole(expectedSeq, 'expectedSeq', 0, Number.MAX_SAFE_INTEGER) };
}

/** Checks the depths `from` (inclusive) and `to` (exclusive) of a range. */
export function checkDepths(from: number, to: number): void {
  checkWhole(from, 'fromDepth', 0, Number.MAX_SAFE_INTEGER);
  checkWhole(to, 'toDepth', 0, Number.MAX_SAFE_INTEGER);
  if (from > to) throw invalid('toDepth', `is not less than fromDepth (${from}), got ${to}`);
}

/** Checks an optional turn to begin after. */
export function checkAfter(after: TurnIdLike | undefined): TurnId {
  return after === undefined ? NO_TURN : toTurnId(after, true);
}

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
    ...(title !== undefined &&
      title !== null && { title: checkLine(title, 'title', TITLE_CHARS_MAX) }),
    ...(kind !== undefined && kind !== null && { kind: checkLine(kind, 'kind', KIND_CHARS_MAX) }),
    ...(labels !== undefined && labels !== null && { labels: checkLabels(labels) }),
    ...(meta !== undefined && meta !== null && { meta: checkJson(meta) }),
  };
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

function checkJson(meta: unknown): unknown {
  let text: string;
  try {
    text = canonicalJson(meta);
  } catch (error) {
    throw new QuipuError('INVALID', 'meta is not JSON', { what: 'meta' }, { cause: error });
  }
  const size = Buffer.byteLength(text);
  if (size > META_BYTES_MAX) {
    const message = `meta takes ${size} bytes, and ${META_BYTES_MAX} are allowed`;
    throw tooLarge('meta', META_BYTES_MAX, size, message);
  }
  return JSON.parse(text) as unknown;
}
