import { isFields } from '../../base/fields.ts';
import type { ContextId } from '../../base/brand.ts';
import { notFound } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import { internalise } from '../fold/externalise.ts';
import { readImportedTurn } from '../show/imported-turn.ts';
import { ListSplitter } from '../read/list-splitter.ts';
import type { Block, Source, TurnHead } from '../source/source.ts';
import { at, textAt, textOf, timeAt } from '../source/fields.ts';

/** A turn as people and other programs see it. */
export interface Said {
  readonly turn: Turn;
  readonly what: string;
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly at: number;
  readonly head: TurnHead;
  readonly blocks: readonly Block[];
  /** The records of the source, each as one line; empty for a turn that was not imported. */
  readonly lines: readonly string[];
}

/** A context, and the turns that lead to its head. */
export interface History {
  readonly context: Context;
  /** The source that the context was imported from. */
  readonly source: Source | undefined;
  readonly session: string | undefined;
  readonly cwd: string | undefined;
  readonly model: string | undefined;
  turns(): AsyncIterable<Said>;
}

export async function readHistory(
  store: Store,
  id: ContextId,
  sources: readonly Source[],
): Promise<History> {
  const context = await store.contexts.get(id);
  if (context === undefined) throw notFound('context', String(id), `there is no context ${id}`);
  const { meta, head } = context;
  const source = sources.find(({ name }) => name === textAt(meta, 'source'));
  return {
    context,
    source,
    session: textAt(meta, 'session'),
    cwd: textAt(meta, 'cwd'),
    model: textAt(meta, 'model'),
    async *turns() {
      if (head === 0n) return;
      for await (const turn of store.contexts.chain(head)) yield await toSaid(store, turn, sources);
    },
  };
}

async function toSaid(store: Store, turn: Turn, sources: readonly Source[]): Promise<Said> {
  const { type, payload, createdAt } = turn;
  const imported = readImportedTurn(type, payload);
  if (imported === undefined) return toPlain(turn);
  const { head, what, places, attached } = imported;
  const bytesOf = (ref: string): Promise<Uint8Array | undefined> => store.blobs.get(ref);
  const lines = places.length === 0 ? rawRecords(turn.bytes) : [];
  await internalise(payload, places, (sha256) => bytesOf(`blob:sha256:${sha256}`));
  const source = sources.find(({ name }) => name === imported.source);
  const blocks = imported.records.flatMap((record) => source?.show(record) ?? []);
  return {
    turn,
    what,
    role: head.role ?? 'system',
    at: head.at ?? createdAt,
    head,
    blocks: await withAttached(blocks, attached, bytesOf),
    lines: lines.length > 0 ? lines : imported.records.map(toJsonText),
  };
}

/** A result of which the record has only the beginning is shown as a whole. */
async function withAttached(
  blocks: readonly Block[],
  attached: readonly (readonly [string, string])[],
  bytesOf: (ref: string) => Promise<Uint8Array | undefined>,
): Promise<readonly Block[]> {
  const texts = await Promise.all(attached.map(([, ref]) => bytesOf(ref)));
  let next = 0;
  return blocks.map((block) => {
    if (block.is !== 'result' || !block.text.startsWith('<persisted-output>')) return block;
    const bytes = texts[next];
    next += 1;
    return bytes === undefined ? block : { ...block, text: Buffer.from(bytes).toString('utf8') };
  });
}

/** The text of each record, as it was found. */
function rawRecords(bytes: Uint8Array | undefined): string[] {
  const text = Buffer.from(bytes ?? []);
  const start = text.indexOf('"records":[');
  if (start === -1) return [];
  const list = text.subarray(start + '"records":'.length, text.length - 1);
  const items = new ListSplitter('list', Number.MAX_SAFE_INTEGER).take(list);
  return [...items].map(({ bytes: item }) => Buffer.from(item ?? []).toString('utf8'));
}

/** Messages of other programs commonly have a role, and a text or content. */
function toPlain(turn: Turn): Said {
  const { payload, createdAt, type } = turn;
  const role = textAt(payload, 'role');
  const known = role === 'assistant' || role === 'tool' || role === 'system' ? role : 'user';
  const said =
    typeof payload === 'string' ? payload : textOf(at(payload, 'text') ?? at(payload, 'content'));
  const text = said === '' && payload !== undefined ? show(payload) : said;
  return {
    turn,
    what: 'message',
    role: isFields(payload) && type.includes('result') ? 'tool' : known,
    at: timeAt(payload, 'at') ?? createdAt,
    head: {},
    blocks: text === '' ? [] : [{ is: 'text', text }],
    lines: [],
  };
}

function show(payload: unknown): string {
  return payload instanceof Uint8Array ? `${payload.length} bytes` : toJsonText(payload);
}

/** MessagePack and CBOR have whole numbers that JSON.stringify refuses. */
function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  ) as string | undefined;
  return text ?? 'null';
}
