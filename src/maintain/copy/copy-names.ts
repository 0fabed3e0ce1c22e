import { toContextId } from '../../base/brand.ts';
import type { AdoptedContext, DocEntry } from '../../engine/adoption.ts';
import { namePages } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import { contextOfMoves } from '../../format/head-moves.ts';
import { mapFew, type Pair } from './pair.ts';

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
    for (const slice of slicesOf(docs)) {
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

function* slicesOf(docs: readonly DocEntry[]): Generator<readonly DocEntry[]> {
  let slice: DocEntry[] = [];
  let chars = 0;
  for (const doc of docs) {
    slice.push(doc);
    chars += doc.row.content.length;
    if (chars < DOCS_CHARS) continue;
    yield slice;
    slice = [];
    chars = 0;
  }
  if (slice.length > 0) yield slice;
}
