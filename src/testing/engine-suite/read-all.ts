import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { Hash, TurnId } from '../../base/brand.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Change, Committed } from '../../engine/batch.ts';
import type { ContextQuery, Engine } from '../../engine/engine.ts';
import type {
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  PatchRow,
  TurnRow,
} from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { present, textOf } from './fixture.ts';

const MANY = 1_000_000;
const PAGES_MAX = 1000;

/** Everything that reads can show of a store, in a form that compares. */
export interface Everything {
  readonly turns: readonly TurnRow[];
  readonly openTexts: readonly (string | undefined)[];
  readonly patches: readonly PatchRow[];
  readonly fsRoots: readonly FsRootRow[];
  readonly contexts: readonly ContextRow[];
  readonly heads: readonly (HeadRow | undefined)[];
  /** The context that each name leads to. */
  readonly names: Readonly<Record<string, ContextRow | undefined>>;
  readonly logs: Readonly<Record<string, { bytes: number; lines: readonly string[] }>>;
  readonly docs: readonly DocRow[];
  /** Each payload or tree that a turn or patch names, and its length as read. */
  readonly payloads: Readonly<Record<string, number>>;
}

export async function readAll(engine: Engine): Promise<Everything> {
  const turns = await readTurns(engine);
  const ids = turns.map((turn) => turn.id);
  const patches = await engine.getPatches(ids);
  const contexts = await listAllContexts(engine);
  const fsRoots = await engine.getFsRoots(ids);
  const hashes = [...turns, ...patches].flatMap(({ payload }) => payload ?? []);
  return {
    turns,
    openTexts: await Promise.all(
      ids.map(async (id) => textOf((await engine.getOpenTurn(id))?.bytes)),
    ),
    patches,
    fsRoots,
    contexts,
    heads: await Promise.all(contexts.map(async ({ id }) => toHead(await engine.getHead(id)))),
    names: await readNames(engine, contexts),
    logs: await readLogs(engine),
    docs: await readDocs(engine),
    payloads: await readPayloads(engine, [...hashes, ...fsRoots.map(({ root }) => root)]),
  };
}

export async function listAllContexts(
  engine: Engine,
  query: Omit<ContextQuery, 'cursor' | 'limit'> = {},
  limit = 100,
): Promise<ContextRow[]> {
  const rows: ContextRow[] = [];
  let cursor: string | undefined;
  // The loop has an end, so that an engine whose pages never end fails a test instead of holding up the run.
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await engine.listContexts({
      ...query,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...page.rows);
    if (page.cursor === undefined) return rows;
    ({ cursor } = page);
  }
  throw new Error(`the listing has no end: more than ${PAGES_MAX} pages`);
}

/**
 * Leaves out the facts that engines may answer differently: whether reads mark patched turns in the flags, and whether
 * an open turn has a size before it is sealed.
 */
export function toComparable(row: TurnRow): TurnRow {
  const flags = row.flags & ~(TurnFlag.PATCHED | TurnFlag.TOMBSTONE);
  return { ...row, flags, size: (flags & TurnFlag.OPEN) === 0 ? row.size : 0 };
}

/** A result without its number, which depends on how often the store was opened. */
export function toComparableResult(committed: Committed): Omit<Committed, 'seq'> {
  const { replayed, contexts, patches, fsRoots, logs, docs } = committed;
  return {
    replayed,
    contexts,
    turns: committed.turns.map(toComparable),
    opened: committed.opened.map(toComparable),
    sealed: committed.sealed.map(toComparable),
    patches,
    fsRoots,
    logs,
    docs,
  };
}

export function toComparableChange(change: Change): unknown {
  const heads = change.heads.map(toHead).toSorted((a, b) => Number(present(a).id - present(b).id));
  const { moves, removedContexts, removedLogs, removedDocs } = change;
  return { ...toComparableResult(change), heads, moves, removedContexts, removedLogs, removedDocs };
}

/** Returns only the fields of a head: engines may return a whole context where a head is asked for. */
export function toHead(row: HeadRow | undefined): HeadRow | undefined {
  if (row === undefined) return undefined;
  const { id, head, headDepth, base, openTurn, createdAt, updatedAt } = row;
  return { id, head, headDepth, base, openTurn, createdAt, updatedAt };
}

/** Ids are dense, so the first one missing is the end. */
async function readTurns(engine: Engine): Promise<TurnRow[]> {
  const turns: TurnRow[] = [];
  for (let id = 1; ; id++) {
    const row = await engine.getTurn(toTurnId(id));
    if (row === undefined) return turns;
    turns.push(toComparable(row));
  }
}

async function readNames(
  engine: Engine,
  contexts: readonly ContextRow[],
): Promise<Everything['names']> {
  const found: Record<string, ContextRow | undefined> = {};
  for (const { meta } of contexts) {
    if (meta.name !== undefined) found[meta.name] = await engine.findContext(meta.name);
  }
  return found;
}

async function readLogs(engine: Engine): Promise<Everything['logs']> {
  const logs: Record<string, { bytes: number; lines: readonly string[] }> = {};
  for (const name of await engine.listLogs('', MANY)) {
    const { bytes } = present(await engine.getLog(name));
    logs[name] = { bytes, lines: await engine.readLog(name, 0, MANY) };
  }
  return logs;
}

/** Leaves out the documents that an engine keeps for itself, should it list them. */
async function readDocs(engine: Engine): Promise<DocRow[]> {
  const names = (await engine.listDocs('', MANY)).filter((name) => !name.startsWith('contexts/'));
  return Promise.all(names.map(async (name) => present(await engine.getDoc(name))));
}

async function readPayloads(
  engine: Engine,
  hashes: readonly Hash[],
): Promise<Record<string, number>> {
  const lengths: Record<string, number> = {};
  for (const hash of new Set(hashes)) {
    const bytes = present(await engine.getBlob(hash));
    lengths[hash] = hashBytes(bytes) === hash ? bytes.length : NaN;
  }
  return lengths;
}

/** Walks the chain one parent at a time. */
export async function walkNaively(engine: Engine, from: TurnId): Promise<TurnRow[]> {
  const rows: TurnRow[] = [];
  for (let id = from; id !== NO_TURN;) {
    const row = present(await engine.getTurn(id));
    rows.push(row);
    id = row.parent;
  }
  return rows;
}
