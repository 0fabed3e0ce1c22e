import type { Hash, TurnId } from '../../../base/brand.ts';
import { NO_TURN } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import { decodePayload } from '../../../context/payloads/codecs.ts';
import { viewTurns } from '../../../context/turns/read-turns.ts';
import type { TurnView } from '../../../context/turn.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { ContextRow } from '../../../engine/rows.ts';

// Clients of cxdb describe a context in the payload of its first turn: field 30, with the client's tag (1), a title (2),
// labels (3) and the provenance (10). Fields have numbers, or names where no type was published.

/** A first turn with a larger payload says nothing about its context. */
const PAYLOAD_BYTES_MAX = 1024 * 1024;
const CACHE_BYTES = 8 * 1024 * 1024;
const STEP = 256;
/** Whoever writes a first turn chooses what stands there, and every search looks at it. */
const TEXT_CHARS_MAX = 512;
const TEXTS_MAX = 32;

export interface ContextFacts {
  readonly tag?: string | undefined;
  readonly title?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly provenance?: Provenance | undefined;
}

export type Provenance = Readonly<Record<string, string | number | Record<string, string>>>;

export interface DescribedContext {
  readonly row: ContextRow;
  readonly facts: ContextFacts;
}

const NOTHING: ContextFacts = {};

/** The numbers of the fields of a provenance. */
const PROVENANCE: Readonly<Record<number, string>> = {
  1: 'parent_context_id',
  2: 'spawn_reason',
  3: 'root_context_id',
  10: 'trace_id',
  11: 'span_id',
  12: 'correlation_id',
  20: 'on_behalf_of',
  21: 'on_behalf_of_source',
  22: 'on_behalf_of_email',
  30: 'writer_method',
  31: 'writer_subject',
  32: 'writer_issuer',
  40: 'service_name',
  41: 'service_version',
  42: 'service_instance_id',
  43: 'process_pid',
  44: 'process_owner',
  45: 'host_name',
  46: 'host_arch',
  50: 'client_address',
  51: 'client_port',
  60: 'env',
  70: 'sdk_name',
  71: 'sdk_version',
  80: 'captured_at',
};

/** Facts by the hash of the payload they stand in, so that a payload that was patched or erased is not shown. */
const known = new LruCache<Hash, ContextFacts>(CACHE_BYTES, (facts) =>
  Math.max(64, JSON.stringify(facts).length * 2),
);

/**
 * The contexts with what is said about them: by their first turn, or else by themselves. `others` is called between
 * them, and lets other requests have their turn.
 */
export async function describeContexts(
  engine: Engine,
  rows: readonly ContextRow[],
  others: () => Promise<void> = async () => undefined,
): Promise<DescribedContext[]> {
  const described: DescribedContext[] = [];
  for (let at = 0; at < rows.length; at += STEP) {
    const some = rows.slice(at, at + STEP);
    const roots = await Promise.all(some.map((row) => rootOf(engine, row)));
    const found = roots.filter((row) => row !== undefined);
    const views = new Map<TurnId, TurnView>();
    for (const view of await viewTurns(engine, distinct(found), 'latest'))
      views.set(view.row.id, view);
    for (const [index, row] of some.entries()) {
      const root = roots[index];
      const view = root && views.get(root.id);
      const facts = view === undefined ? NOTHING : await factsOf(engine, view);
      await others();
      described.push({ row, facts: withOwn(row, facts) });
    }
  }
  return described;
}

async function rootOf(engine: Engine, { head }: ContextRow) {
  return head === NO_TURN ? undefined : engine.ancestorAt(head, 0);
}

function distinct<T extends { readonly id: TurnId }>(rows: readonly T[]): T[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

async function factsOf(engine: Engine, view: TurnView): Promise<ContextFacts> {
  const { payload, size, encoding, patch } = view;
  if (payload === undefined || patch?.tombstone === true || size > PAYLOAD_BYTES_MAX) {
    return NOTHING;
  }
  const before = known.get(payload);
  if (before !== undefined) return before;
  try {
    const bytes = await engine.viewBlob(payload);
    const facts = bytes === undefined ? NOTHING : readFacts(decodePayload(bytes, encoding));
    known.set(payload, facts);
    return facts;
  } catch (error) {
    // A first turn that is damaged, or that is not in its encoding, says nothing.
    if (isQuipuError(error) && error.code !== 'CORRUPT') throw error;
    return NOTHING;
  }
}

/** Pure: what a first payload says about its context. Long texts are cut, and long lists end. */
export function readFacts(payload: unknown): ContextFacts {
  const about = fieldOf(payload, 30, 'context_metadata');
  const labels = fieldOf(about, 3, 'labels');
  const provenance = readProvenance(fieldOf(about, 10, 'provenance'));
  return {
    tag: textOf(fieldOf(about, 1, 'client_tag')),
    title: textOf(fieldOf(about, 2, 'title')),
    labels: Array.isArray(labels)
      ? labels.slice(0, TEXTS_MAX).flatMap((label) => textOf(label) ?? [])
      : undefined,
    provenance,
  };
}

function readProvenance(value: unknown): Provenance | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(PROVENANCE).flatMap(([number, name]) => {
    const field = fieldOf(value, Number(number), name);
    const shown =
      name === 'env' ? textsOf(field) : Number.isSafeInteger(field) ? field : cut(field);
    return shown === undefined ? [] : [[name, shown]];
  });
  return Object.fromEntries(entries) as Provenance;
}

function textsOf(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value).slice(0, TEXTS_MAX);
  return Object.fromEntries(
    entries.flatMap(([name, one]) => {
      const text = cut(one);
      return text === undefined ? [] : [[cut(name), text]];
    }),
  ) as Record<string, string>;
}

function fieldOf(value: unknown, number: number, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const key = Object.hasOwn(value, String(number)) ? String(number) : name;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function textOf(value: unknown): string | undefined {
  return value === '' ? undefined : cut(value);
}

function cut(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.length <= TEXT_CHARS_MAX) return value;
  // A slice of a long text keeps all of it in memory. This is a text of its own.
  return Buffer.from(value.slice(0, TEXT_CHARS_MAX)).toString();
}

/** The details that the context was made with, where its first turn is silent. */
function withOwn({ meta }: ContextRow, facts: ContextFacts): ContextFacts {
  return {
    ...facts,
    tag: facts.tag ?? textOf(fieldOf(meta.meta, 0, 'client_tag')),
    title: facts.title ?? meta.title,
    labels: facts.labels ?? meta.labels,
  };
}
