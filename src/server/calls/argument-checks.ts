import { z } from 'zod';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import type { CheckedRead } from '../../context/check-input.ts';
import type { EraseOptions } from '../../context/contexts.ts';
import type { PageRequest } from '../../context/turns/loaded-page.ts';
import type { Batch } from '../../engine/batch.ts';
import type { BlobSource, ContextQuery, Wanted } from '../../engine/engine.ts';
import {
  FIELD_CONDITIONS_MAX,
  FIELD_NAME_BYTES_MAX,
  FIELD_PREFIX_BYTES_MAX,
  toName,
  toPrefix,
} from '../../engine/meta-fields.ts';
import type { LineErasure } from '../../engine/upkeep.ts';
import type { GcOptions } from '../../maintain/collect-garbage.ts';
import type { RetentionPolicy } from '../../maintain/retain-contexts.ts';
import type {
  NewEvent,
  NewSubscription,
  PeekOptions,
  PopOptions,
} from '../../queue/events/queue.ts';
import type { SearchOptions } from '../../search/contract/search.ts';
import type { BlobEraseOptions } from '../../store/blobs.ts';
import { rowOf, type ArgumentKind, type CALLS, type CallName } from '../../wire/calls.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../../wire/limits.ts';
import { RECORDS_MAX, contextId, count, hash, limit, sha256, text, turnId } from './check-args.ts';
import { batch } from './check-batch.ts';

// The checks of the arguments of calls, by kind of argument. Every argument from outside is checked once, before
// anything is done.

/** The type of each kind of argument once it is checked. */
interface Checked {
  readonly batch: Batch;
  readonly blobEraseOptions: BlobEraseOptions;
  readonly boolean: boolean;
  readonly context: ContextId;
  readonly contextQuery: ContextQuery;
  readonly count: number;
  readonly eraseOptions: EraseOptions;
  readonly erasures: readonly LineErasure[];
  readonly event: NewEvent;
  readonly events: readonly NewEvent[];
  readonly gcOptions: GcOptions;
  readonly hash: Hash;
  readonly 'hash?': Hash | undefined;
  readonly hashPrefix: string;
  readonly limit: number;
  readonly pageRead: CheckedRead;
  readonly pageRequest: PageRequest;
  readonly path: string;
  readonly peekOptions: PeekOptions;
  readonly popOptions: PopOptions;
  readonly putOptions: Pick<BlobSource, 'sha256'>;
  readonly retention: RetentionPolicy;
  readonly searchOptions: Omit<SearchOptions, 'progress'>;
  readonly sha256: string;
  readonly subscription: NewSubscription;
  readonly text: string;
  readonly 'text?': string | undefined;
  readonly turn: TurnId;
  readonly turns: readonly TurnId[];
  readonly wanted: Wanted;
}

type CheckedList<Kinds extends readonly ArgumentKind[]> = {
  -readonly [Place in keyof Kinds]: Checked[Kinds[Place]];
};

/** The arguments of a call once they are checked. */
export type ArgumentsOf<Name extends CallName> = CheckedList<(typeof CALLS)[Name]['args']>;

const amount = z.number().min(0);
const eraseOptions = z.strictObject({ reason: text, everywhere: z.boolean().optional() });
const need = z.strictObject({ kind: text, id: text });
const event = z.strictObject({ source: text, type: text, subtype: text.nullish(), content: text });
const page = {
  lastEventId: count,
  limit: count.optional(),
  maxBytes: z.int().min(1).optional(),
};

const fieldName = text.refine((name) => toName(name).length <= FIELD_NAME_BYTES_MAX, 'is too long');
const fieldPrefix = text.refine(
  (prefix) => toPrefix(prefix).length <= FIELD_PREFIX_BYTES_MAX,
  'is too long',
);
const fieldCondition = z.union([
  z.strictObject({ field: fieldName, is: z.union([text, z.number(), z.boolean(), z.null()]) }),
  z.strictObject({ field: fieldName, prefix: fieldPrefix }),
  z.strictObject({ field: fieldName, exists: z.boolean() }),
]);
const timeRange = z.strictObject({ since: count.optional(), until: count.optional() });

const CHECKS: { readonly [Kind in ArgumentKind]: z.ZodType } = {
  batch,
  blobEraseOptions: eraseOptions.extend({ letGo: z.array(need).max(100).optional() }),
  boolean: z.boolean(),
  context: contextId,
  contextQuery: z.strictObject({
    label: text.optional(),
    kind: text.optional(),
    namePrefix: text.optional(),
    fields: z.array(fieldCondition).max(FIELD_CONDITIONS_MAX).optional(),
    created: timeRange.optional(),
    updated: timeRange.optional(),
    count: z.boolean().optional(),
    limit,
    cursor: text.optional(),
  }),
  count,
  eraseOptions,
  erasures: z.array(z.strictObject({ line: count, text })),
  event,
  events: z.array(event),
  gcOptions: z.strictObject({
    dryRun: z.boolean().optional(),
    graceMs: amount.optional(),
    all: z.boolean().optional(),
  }),
  hash,
  'hash?': hash.optional(),
  hashPrefix: z.string().regex(/^[0-9a-f]{0,64}$/, 'is up to 64 lower-case hex digits'),
  limit,
  pageRead: z.strictObject({
    payload: z.union([z.boolean(), count]),
    as: z.union([z.literal(['latest', 'original']), count]),
    maxBytes: count,
  }),
  pageRequest: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('last'), context: contextId, n: limit }),
    z.strictObject({ kind: z.literal('before'), context: contextId, turn: turnId, n: limit }),
    z.strictObject({ kind: z.literal('range'), context: contextId, from: count, to: count }),
    z.strictObject({ kind: z.literal('chain'), tip: turnId, from: count, to: count }),
  ]),
  path: z.string().min(1).max(4096),
  peekOptions: z.strictObject({ ...page, filter: text.optional() }),
  popOptions: z.strictObject({ ...page, fence: count.optional() }),
  putOptions: z.strictObject({ sha256: z.boolean() }),
  retention: z.strictObject({
    maxAgeMs: amount.optional(),
    maxBytes: amount.optional(),
    label: text.optional(),
    keep: count.optional(),
  }),
  searchOptions: z.strictObject({
    order: z.enum(['best', 'newest']).optional(),
    limit: count.optional(),
    cursor: text.optional(),
    group: z.boolean().optional(),
    facets: z.boolean().optional(),
    around: count.optional(),
    waitMs: count.optional(),
    timeMs: count.optional(),
  }),
  sha256,
  subscription: z.strictObject({ consumer: text, handler: text, filter: text.nullish() }),
  text,
  'text?': text.optional(),
  turn: turnId,
  turns: z.array(turnId).max(RECORDS_MAX),
  wanted: z.strictObject({
    contexts: z.array(contextId).max(MANY_CONTEXTS_MAX),
    turns: z.array(turnId).max(MANY_RECORDS_MAX),
    patches: z.array(count).max(MANY_RECORDS_MAX),
  }),
};

/** The check of the arguments of a call. It throws INVALID that names the argument, and copies only where necessary. */
export function checkOf<Name extends CallName>(
  call: Name,
): (args: readonly unknown[]) => ArgumentsOf<Name> {
  const kinds = rowOf(call).args.map((kind) => CHECKS[kind]);
  const schema = z.tuple(kinds as []) as unknown as z.ZodType<ArgumentsOf<Name>>;
  return (args) => {
    const result = schema.safeParse(args);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = issue === undefined ? '' : issue.path.map((part) => `[${String(part)}]`).join('');
    throw invalid(`${call} arguments${place}`, `are wrong: ${issue?.message ?? 'not as expected'}`);
  };
}
