import { toTurnId } from '../../src/base/brand.ts';
import { hashBytes, sha256Hex } from '../../src/base/hash.ts';
import type { BlobPut } from '../../src/engine/batch.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { ContextRow, TurnRow } from '../../src/engine/rows.ts';
import { toComparable, toHead } from '../../src/testing/engine-suite/read-all.ts';

const MANY = 1000;
/** Larger blobs are read only where reading is thorough. */
const QUICK_BYTES = 64 * 1024;

/** Blobs that no turn names, also found by their SHA-256; the last one is stored in chunks. */
export const LOOSE_BLOBS: readonly (BlobPut & { readonly sha256: string })[] = [
  looseBlob('loose'),
  looseBlob('more of it '.repeat(30)),
  looseBlob('a large one: '.repeat(21_000)),
];

/**
 * Everything that reads can tell of a store, as one text: equal stores have equal texts. A thorough
 * reading has the same text, and checks every byte against its hash once more.
 */
export async function readText(engine: Engine, thoroughly = false): Promise<string> {
  const turns = await readTurns(engine);
  const ids = turns.map((turn) => turn.id);
  const patches = await engine.getPatches(ids);
  const fsRoots = await engine.getFsRoots(ids);
  const { rows: contexts } = await engine.listContexts({ limit: MANY });
  const lines: unknown[] = [...turns, ...patches, ...fsRoots, ...contexts];
  for (const name of await engine.listLogs('', MANY)) {
    lines.push(await engine.getLog(name), await engine.readLog(name, 0, MANY));
  }
  for (const name of await engine.listDocs('', MANY)) lines.push(await engine.getDoc(name));
  const payloads = [...turns, ...patches].flatMap(({ payload }) => payload ?? []);
  for (const hash of new Set([...payloads, ...fsRoots.map(({ root }) => root)]))
    lines.push(await readBlob(engine, hash, thoroughly));
  for (const { hash, sha256 } of LOOSE_BLOBS) {
    lines.push(await readBlob(engine, hash, thoroughly), await engine.findBySha256(sha256));
  }
  if (thoroughly) {
    for (const context of contexts) await assertHead(engine, context);
  }
  return lines.map(textOf).join('\n');
}

async function assertHead(engine: Engine, context: ContextRow): Promise<void> {
  const head = textOf(toHead(await engine.getHead(context.id)));
  if (head !== textOf(toHead(context))) throw new Error(`the head is ${head} and not as listed`);
}

/** Ids are dense, so the first one missing is the end. */
async function readTurns(engine: Engine): Promise<TurnRow[]> {
  const turns: TurnRow[] = [];
  for (let id = 1; ; id += 1) {
    const row = await engine.getTurn(toTurnId(id));
    if (row === undefined) return turns;
    turns.push(toComparable(row));
  }
}

async function readBlob(
  engine: Engine,
  hash: BlobPut['hash'],
  thoroughly: boolean,
): Promise<string | undefined> {
  const stat = await engine.statBlob(hash);
  if (stat === undefined) return undefined;
  const bytes = thoroughly || stat.size <= QUICK_BYTES ? await engine.getBlob(hash) : undefined;
  const right = !thoroughly || (bytes !== undefined && hashBytes(bytes) === hash);
  return `${hash} ${right && (bytes?.length ?? stat.size) === stat.size ? stat.size : 'wrong'}`;
}

/** JSON with bigints, and with keys in order whatever order the engine made them in. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint8Array) return hashBytes(value);
  let text = '{';
  for (const key of Object.keys(value).sort()) {
    text += `${key}:${textOf((value as Record<string, unknown>)[key])},`;
  }
  return `${text}}`;
}

function looseBlob(text: string): BlobPut & { readonly sha256: string } {
  const bytes = new TextEncoder().encode(text);
  return { hash: hashBytes(bytes), bytes, sha256: sha256Hex(bytes) };
}
