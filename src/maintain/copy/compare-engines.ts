import { isDeepStrictEqual } from 'node:util';
import { toTurnId } from '../../base/brand.ts';
import { hexOf } from '../../base/hash.ts';
import type { PatchEntry, TurnEntry } from '../../engine/adoption.ts';
import type { ContextRow, TurnRow } from '../../engine/rows.ts';
import { LiveSet } from '../live-set.ts';
import { docsOf, logsOf } from './copy-records.ts';
import { contextIds, differs, mapFew, storedBlobs, type Extent, type Pair } from './pair.ts';

const PAGE = 1024;
const LINES = 1024;

/** Compares record by record, both ways. Throws at the first difference. */
export async function compareEngines(pair: Pair, extent: Extent): Promise<void> {
  await compareTips(pair, extent);
  await compareTurns(pair, extent);
  await compareContexts(pair, extent);
  await comparePatches(pair, extent);
  await compareLogs(pair, extent);
  await compareDocs(pair, extent);
  await compareBlobs(pair, extent);
}

async function compareTips({ from, to }: Pair, extent: Extent): Promise<void> {
  const there = await from.tips();
  const here = await to.tips();
  for (const what of ['turn', 'context', 'patch'] as const) {
    const isFurther = here[what] > there[what];
    if (isFurther || (extent === 'whole' && here[what] !== there[what])) {
      throw differs(extent, `it is at ${what} ${here[what]}, and the source at ${there[what]}`);
    }
  }
}

async function compareTurns({ from, to, progress, pause }: Pair, extent: Extent): Promise<void> {
  const { turn: last } = await to.tips();
  for (let next = 1n; next <= last; next += BigInt(PAGE)) {
    pause();
    const there = await from.upkeep.records.turns(toTurnId(next), PAGE);
    const here = await to.upkeep.records.turns(toTurnId(next), PAGE);
    for (const [at, entry] of here.entries()) {
      if (isSameTurn(entry, there[at])) continue;
      throw differs(extent, `turn ${entry.id} is not the source's`);
    }
    progress(Number(next), Number(last), 'comparing turns');
  }
}

/** Most rows are equal, so they are compared field by field. One engine may give a key as a Buffer: its bytes matter. */
function isSameTurn(a: TurnEntry, b: TurnEntry | undefined): boolean {
  if (b === undefined || !isSameKey(a.key, b.key)) return false;
  if (a.gone !== undefined || b.gone !== undefined) return a.gone === b.gone;
  const { row: mine } = a;
  const { row: other } = b;
  let name: keyof TurnRow;
  for (name in mine) if (mine[name] !== other[name]) return false;
  for (name in other) if (!(name in mine)) return false;
  return true;
}

function isSameKey(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return hexOf(a) === hexOf(b);
}

async function compareContexts({ from, to, progress, pause }: Pair, extent: Extent): Promise<void> {
  const { context: last } = await to.tips();
  for (let first = 1n; first <= last; first += BigInt(PAGE)) {
    pause();
    const end = first + BigInt(PAGE) - 1n;
    const ids = contextIds(first, end < last ? end : last);
    await mapFew(ids, async (id) => {
      const [here, there] = await Promise.all([to.getContext(id), from.getContext(id)]);
      if (isSameContext(here, there, extent)) return;
      throw differs(extent, `context ${id} is not the source's`);
    });
    progress(Number(first), Number(last), 'comparing contexts');
  }
}

/** With `so far`, the copy of a context may be behind: turns are still to come, and its details are written again. */
function isSameContext(
  here: ContextRow | undefined,
  there: ContextRow | undefined,
  extent: Extent,
): boolean {
  if (extent === 'whole') return isDeepStrictEqual({ ...here }, { ...there });
  if (here === undefined || there === undefined) return here === there;
  return here.base === there.base && here.createdAt === there.createdAt;
}

async function comparePatches({ from, to, pause }: Pair, extent: Extent): Promise<void> {
  const { patch: last } = await to.tips();
  for (let next = 1; next <= last; next += PAGE) {
    pause();
    const there = await from.upkeep.records.patches(next, PAGE);
    const here = await to.upkeep.records.patches(next, PAGE);
    for (const [at, entry] of here.entries()) {
      const other = there[at];
      if (isDeepStrictEqual(comparablePatch(entry, extent), comparablePatch(other, extent)))
        continue;
      throw differs(extent, `patch ${entry.seq} is not the source's`);
    }
  }
}

/** The root of a turn that counts is known only when all roots are there. */
function comparablePatch(entry: PatchEntry | undefined, extent: Extent): unknown {
  if (entry === undefined || !('fsRoot' in entry)) return entry;
  return extent === 'whole' ? entry : { ...entry, replaced: false };
}

async function compareLogs(pair: Pair, extent: Extent): Promise<void> {
  for await (const names of logsOf(pair.to)) {
    for (const name of names) await compareLog(pair, name, extent);
  }
  if (extent === 'so far') return;
  for await (const names of logsOf(pair.from)) {
    for (const name of names) {
      if ((await pair.to.getLog(name)) === undefined)
        throw differs(extent, `it has no log ${name}`);
    }
  }
}

async function compareLog({ from, to, pause }: Pair, name: string, extent: Extent): Promise<void> {
  const here = (await to.getLog(name))?.lines ?? 0;
  const there = (await from.getLog(name))?.lines ?? 0;
  if (here > there || (extent === 'whole' && here !== there)) {
    throw differs(extent, `log ${name} has ${here} lines, and the source's ${there}`);
  }
  for (let at = 0; at < here; at += LINES) {
    pause();
    const limit = Math.min(LINES, here - at);
    const mine = await to.readLog(name, at, limit);
    if (isDeepStrictEqual([...mine], [...(await from.readLog(name, at, limit))])) continue;
    throw differs(extent, `log ${name} has other lines from line ${at} on`);
  }
}

async function compareDocs(pair: Pair, extent: Extent): Promise<void> {
  const { from, to, pause } = pair;
  for await (const names of docsOf(to)) {
    pause();
    const there = new Map(
      (await from.upkeep.records.docs(names)).map((doc) => [doc.row.name, doc]),
    );
    for (const doc of await to.upkeep.records.docs(names)) {
      const other = there.get(doc.row.name);
      const isBehind =
        extent === 'so far' && other !== undefined && doc.row.version < other.row.version;
      if (isBehind || isDeepStrictEqual(doc, other)) continue;
      throw differs(extent, `document ${doc.row.name} is not the source's`);
    }
  }
  if (extent === 'so far') return;
  for await (const names of docsOf(from)) {
    if ((await to.upkeep.records.docs(names)).length === names.length) continue;
    throw differs(extent, `it lacks a document between ${names[0]} and ${names.at(-1)}`);
  }
}

async function compareBlobs(pair: Pair, extent: Extent): Promise<void> {
  const { from, to, pause, progress } = pair;
  if (extent === 'so far') {
    await assertNoStrangers(pair, extent);
    return;
  }
  // A lookup a blob took a tenth of the time of a copy, so the hashes are held against each other in memory.
  const own = new LiveSet();
  for await (const page of storedBlobs(to)) for (const { hash } of page) own.add(hash);
  let count = 0;
  for await (const page of storedBlobs(from)) {
    pause();
    const missing = page.filter(({ hash }) => !own.has(hash));
    await mapFew(missing, async ({ hash }) => {
      if (!(await to.hasBlob(hash))) throw differs(extent, `it lacks blob ${hash}`);
    });
    progress((count += page.length), 0, 'comparing blobs');
  }
  // The target has all blobs of the source. With as many of its own, it has no others.
  if (own.size !== count) await assertNoStrangers(pair, extent);
  await compareNames(pair);
}

/** One engine may know a blob as a chunk of another, and the other by itself. So each is asked for. */
async function assertNoStrangers({ from, to, pause }: Pair, extent: Extent): Promise<void> {
  for await (const page of storedBlobs(to)) {
    pause();
    await mapFew(page, async ({ hash }) => {
      if (!(await from.hasBlob(hash))) throw differs(extent, `the source has no blob ${hash}`);
    });
  }
}

async function compareNames({ from, to, pause }: Pair): Promise<void> {
  for await (const names of from.upkeep.records.sha256Names()) {
    pause();
    await mapFew(names, async ({ sha256, hash }) => {
      // The name of a blob may outlive the blob.
      if ((await from.findBySha256(sha256)) !== hash) return;
      if ((await to.findBySha256(sha256)) === hash) return;
      throw differs('whole', `blob ${hash} is not found by its SHA-256`);
    });
  }
  const erased = new Set<string>();
  for await (const page of to.upkeep.records.erased()) for (const hash of page) erased.add(hash);
  for await (const page of from.upkeep.records.erased()) {
    const missing = page.find((hash) => !erased.has(hash));
    if (missing !== undefined)
      throw differs('whole', `it does not know that ${missing} was erased`);
  }
}
