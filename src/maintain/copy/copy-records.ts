import { toContextId, toHash, toTurnId, type ContextId } from '../../base/brand.ts';
import { groupsOf } from '../../base/pages.ts';
import { isQuipuError, notFound, type QuipuError } from '../../base/errors.ts';
import type { AdoptedContext, Adoption, TurnEntry, DocEntry } from '../../engine/adoption.ts';
import { namePages } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import { contextOfMoves } from '../../format/head-moves.ts';
import { copyMissing } from './copy-blobs.ts';
import { contextIds, mapFew, type Pair } from './pair.ts';

/** Records in one commit. Where turns are gone each commit says again which, so the number should not be small. */
const TURNS = 4096;
const CONTEXTS = 512;
const PATCHES = 2048;

/**
 * Copies turns in the order of their ids, and each context before its first turn. Contexts were made in the order of
 * their ids, too, each after the turn that it is based on. So the base of a context is there when a turn of this
 * context, or of a later one, comes.
 */
export async function copyTurns(pair: Pair): Promise<{ turns: number; contexts: number }> {
  const { from, to, progress, pause } = pair;
  const end = await from.tips();
  const begin = await to.tips();
  let next = begin.turn + 1n;
  let known = begin.context;
  while (next <= end.turn) {
    const page = await from.upkeep.records.turns(toTurnId(next), TURNS);
    if (page.length === 0) throw endedEarly('turn', next);
    const { turns, upTo } = cutPage(page, known);
    if (turns.length > 0) {
      pause();
      const contexts = await readContexts(from, known + 1n, upTo);
      await adopt(pair, { turns, contexts });
      next += BigInt(turns.length);
    }
    known = turns.length > 0 ? upTo : await copyContexts(pair, known, contextOf(page[0]));
    progress(Number(next - 1n), Number(end.turn), 'turns');
  }
  known = await copyContexts(pair, known, end.context);
  await restateContexts(pair, begin.context);
  return { turns: Number(end.turn - begin.turn), contexts: Number(known - begin.context) };
}

/** The turns of a page that need few enough new contexts, and the last context that they need. */
function cutPage(
  page: readonly TurnEntry[],
  known: bigint,
): { turns: readonly TurnEntry[]; upTo: bigint } {
  let upTo = known;
  for (const [at, entry] of page.entries()) {
    const context = contextOf(entry);
    if (context - known > BigInt(CONTEXTS)) return { turns: page.slice(0, at), upTo };
    if (context > upTo) upTo = context;
  }
  return { turns: page, upTo };
}

function contextOf(entry: TurnEntry | undefined): bigint {
  return entry === undefined || entry.gone !== undefined ? 0n : entry.row.context;
}

/** Copies contexts up to `last`; returns how far it got. */
async function copyContexts(pair: Pair, known: bigint, last: bigint): Promise<bigint> {
  let done = known;
  while (done < last) {
    pair.pause();
    const upTo = done + BigInt(CONTEXTS) < last ? done + BigInt(CONTEXTS) : last;
    await adopt(pair, { contexts: await readContexts(pair.from, done + 1n, upTo) });
    done = upTo;
    pair.progress(Number(done), Number(last), 'contexts');
  }
  return done;
}

/** The details of contexts that an earlier run had copied may have changed since. */
async function restateContexts(pair: Pair, last: bigint): Promise<void> {
  const { from, to, pause, progress } = pair;
  for (let first = 1n; first <= last; first += BigInt(CONTEXTS)) {
    const end = first + BigInt(CONTEXTS) - 1n;
    const upTo = end < last ? end : last;
    const there = await readContexts(from, first, upTo);
    const here = await readContexts(to, first, upTo);
    const contexts = there.filter((context, at) => !isSameContext(context, here[at]));
    pause();
    if (contexts.length > 0) await adopt(pair, { contexts });
    progress(Number(upTo), Number(last), 'contexts');
  }
}

function isSameContext(a: AdoptedContext, b: AdoptedContext | undefined): boolean {
  return JSON.stringify(toPlain(a)) === JSON.stringify(b && toPlain(b));
}

function toPlain(context: AdoptedContext): unknown {
  if (context.removed !== undefined) return { removed: true };
  const { base, createdAt, updatedAt, meta } = context;
  return { base: String(base), createdAt, updatedAt, meta };
}

function readContexts(engine: Engine, first: bigint, last: bigint): Promise<AdoptedContext[]> {
  return mapFew(contextIds(first, last), (id) => readContext(engine, id));
}

async function readContext(engine: Engine, id: ContextId): Promise<AdoptedContext> {
  const row = await engine.getContext(id);
  if (row === undefined) return { id, removed: true };
  const { base, createdAt, updatedAt, meta } = row;
  return { id, base, createdAt, updatedAt, meta };
}

export async function copyPatches(pair: Pair): Promise<number> {
  const { from, to, progress, pause } = pair;
  const { patch: end } = await from.tips();
  const { patch: begin } = await to.tips();
  for (let next = begin + 1; next <= end;) {
    const patches = await from.upkeep.records.patches(next, PATCHES);
    if (patches.length === 0) throw endedEarly('patch', BigInt(next));
    pause();
    await adopt(pair, { patches });
    next += patches.length;
    progress(next - 1, end, 'patches');
  }
  return end - begin;
}

/** A payload may be missing because it was taken for a chunk of a larger blob, which it is as well. */
async function adopt(pair: Pair, adoption: Adoption): Promise<void> {
  for (;;) {
    try {
      return await pair.to.upkeep.adopt(adoption);
    } catch (error) {
      const isBlob = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'blob';
      if (!isBlob || !(await copyMissing(pair, toHash(error.data.id)))) throw error;
    }
  }
}

function endedEarly(what: string, id: bigint): QuipuError<'NOT_FOUND'> {
  return notFound(what, String(id), `${what} ${id} is not there any more`);
}

const NAMES = 256;
/** Lines of one commit: this many, and about this many characters. */
const LINES = 1024;
const LINES_CHARS = 1024 * 1024;
/** Documents of one commit hold about this many characters. */
const DOCS_CHARS = 1024 * 1024;

export function logsOf(engine: Engine): AsyncGenerator<readonly string[]> {
  return namePages((limit, after) => engine.listLogs('', limit, after), NAMES);
}

export function docsOf(engine: Engine): AsyncGenerator<readonly string[]> {
  return namePages((limit, after) => engine.listDocs('', limit, after), NAMES);
}

/** Returns the number of lines copied. */
export async function copyLogs(pair: Pair): Promise<number> {
  let copied = 0;
  const { logs: total } = await pair.from.stats();
  let done = 0;
  for await (const names of logsOf(pair.from)) {
    for (const name of names) {
      copied += await copyLog(pair, name);
      pair.progress((done += 1), total, 'logs');
    }
  }
  return copied;
}

/** Each commit states the length of the log that it continues: no line is ever appended twice. */
async function copyLog({ from, to, pause }: Pair, name: string): Promise<number> {
  const end = (await from.getLog(name))?.lines ?? 0;
  const begin = (await to.getLog(name))?.lines ?? 0;
  let expectedLines = begin;
  while (expectedLines < end) {
    const lines = fewEnough(await from.readLog(name, expectedLines, LINES));
    if (lines.length === 0) break;
    pause();
    await to.commit({ logs: [{ do: 'append', name, lines, expectedLines }] });
    expectedLines += lines.length;
  }
  return expectedLines - begin;
}

function fewEnough(lines: readonly string[]): readonly string[] {
  let chars = 0;
  const end = lines.findIndex((line, at) => (chars += line.length) > LINES_CHARS && at > 0);
  return end === -1 ? lines : lines.slice(0, end);
}

export async function copyDocs(pair: Pair): Promise<number> {
  const { from, to, progress, pause } = pair;
  const { docs: total } = await from.stats();
  let [copied, seen] = [0, 0];
  for await (const names of docsOf(from)) {
    const there = await from.upkeep.records.docs(names);
    const here = new Map((await to.upkeep.records.docs(names)).map(({ row }) => [row.name, row]));
    const docs = there.filter(({ row }) => here.get(row.name)?.version !== row.version);
    for (const slice of groupsOf(docs, DOCS_CHARS, ({ row }) => row.content.length)) {
      pause();
      // A document that says where a head was moved is true together with that head.
      await to.upkeep.adopt({ docs: slice, contexts: await movedContexts(from, slice) });
      copied += slice.length;
    }
    progress((seen += names.length), total, 'documents');
  }
  return copied;
}

async function movedContexts(
  from: Engine,
  docs: readonly DocEntry[],
): Promise<readonly AdoptedContext[]> {
  const ids = docs.flatMap(({ row }) => contextOfMoves(row.name) ?? []);
  const found = await mapFew(ids, (id) => from.getContext(toContextId(id)));
  return found.flatMap((row) => {
    if (row === undefined) return [];
    const { id, base, createdAt, updatedAt, meta, head } = row;
    return [{ id, base, createdAt, updatedAt, meta, movedTo: head }];
  });
}
