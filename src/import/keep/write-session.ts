import { NO_TURN, type ContextId, type Hash, type TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { hashBytes, hashText } from '../../base/hash.ts';
import type { NewTurn } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import type { BlobBytes, PlannedTurn } from '../fold/externalise.ts';
import type { Session, Slot, Work } from '../fold/session.ts';
import type { ImportReport } from './import-report.ts';

// Carries out the work of a session. The work is the same each time it is planned, so work that an interrupted import
// has done already is found in the store and not done again: a context by its key, a turn by its payload.

const BATCH_TURNS = 2000;
const BATCH_BYTES = 8 * 1024 * 1024;

type Planned = (Work & { do: 'append' })['turns'];

/** Where an import writes. */
export interface Writing {
  readonly store: Store;
  readonly counts: Pick<ImportReport, 'blobs' | 'blobsShared'>;
  /** Blobs that this import has put, by their names. A collection leaves them for the grace period. */
  readonly known: Map<string, Promise<Hash>>;
}

const KNOWN_MAX = 10_000;

export async function writeWork(
  writing: Writing,
  session: Session,
  work: readonly Work[],
): Promise<void> {
  for (const item of work) {
    if (item.do === 'create') await openContext(writing.store, session, item);
    else await appendTurns(writing, item);
  }
}

async function openContext(
  store: Store,
  { source, name }: Session,
  { slot, at }: Work & { do: 'create' },
): Promise<void> {
  const idempotencyKey = `import/${source}/${name}/${slot.number}`;
  const kind = `import.${source}`;
  const base = mustHaveTurn(at.turn);
  const { id } =
    base === NO_TURN
      ? await store.contexts.create({ kind, idempotencyKey })
      : await store.contexts.fork(base, { kind, idempotencyKey });
  slot.context = id;
  slot.storedHead = base;
}

async function appendTurns(
  writing: Writing,
  { slot, parent, turns }: Work & { do: 'append' },
): Promise<void> {
  let before = mustHaveTurn(parent.turn);
  let rest = turns;
  while (rest.length > 0) {
    const batch = rest.slice(0, batchLength(rest));
    rest = rest.slice(batch.length);
    before = await appendBatch(writing, slot, before, batch);
  }
}

function batchLength(turns: Planned): number {
  let bytes = 0;
  for (const [index, { payload }] of turns.entries()) {
    bytes += payload.length;
    if (index > 0 && (bytes > BATCH_BYTES || index >= BATCH_TURNS)) return index;
  }
  return turns.length;
}

/**
 * Returns the last turn. The key finds a batch that an interrupted import has written. Where the file has changed since,
 * batches are cut elsewhere, and the turns themselves are compared.
 */
async function appendBatch(
  writing: Writing,
  slot: Slot,
  parent: TurnId,
  batch: Planned,
): Promise<TurnId> {
  const { store } = writing;
  const turns = await Promise.all(batch.map((turn) => toNewTurn(writing, turn)));
  const hashes = batch.map(({ payload }) => hashBytes(payload));
  const idempotencyKey = `import/${parent}/${hashText(hashes.join())}`;
  const goesBack = parent !== slot.storedHead && parent !== NO_TURN;
  const written = await store.contexts
    .appendBatch(mustHaveContext(slot), turns, {
      idempotencyKey,
      expectedHead: slot.storedHead,
      ...(goesBack && { parent }),
    })
    .catch((error: unknown) => {
      if (!isQuipuError(error, 'HEAD_MOVED')) throw error;
      return appendRest(store, slot, parent, { turns, hashes });
    });
  for (const [index, { node }] of batch.entries()) node.turn = written[index]?.id;
  slot.storedHead = written.at(-1)?.id ?? slot.storedHead;
  return slot.storedHead;
}

/** The context has moved on: what it has of the turns is taken, and the others follow. */
async function appendRest(
  store: Store,
  slot: Slot,
  parent: TurnId,
  { turns, hashes }: { readonly turns: readonly NewTurn[]; readonly hashes: readonly Hash[] },
): Promise<readonly Turn[]> {
  const context = mustHaveContext(slot);
  const depth = parent === NO_TURN ? 0 : ((await store.contexts.turn(parent))?.depth ?? 0) + 1;
  const { turns: after } = await store.contexts.range(context, depth, depth + turns.length, {
    payload: false,
  });
  const same = after.findIndex(({ payloadHash }, index) => payloadHash !== hashes[index]);
  const found =
    after[0]?.parent === parent ? after.slice(0, same === -1 ? after.length : same) : [];
  const rest = turns.slice(found.length);
  if (rest.length === 0) return found;
  const head = found.at(-1)?.id ?? parent;
  if ((await store.contexts.get(context))?.head !== head) {
    // Somebody else appended to the context: it stays with them, and the import goes on in one of its own.
    const forked =
      head === NO_TURN ? await store.contexts.create() : await store.contexts.fork(head);
    slot.context = forked.id;
  }
  const added = await store.contexts.appendBatch(mustHaveContext(slot), rest, {
    expectedHead: head,
  });
  return [...found, ...added];
}

async function toNewTurn(writing: Writing, turn: PlannedTurn): Promise<NewTurn> {
  const { type, payload, blobs } = turn;
  if (blobs.length === 0) return { type, payload, encoding: 'json' };
  return { type, payload, encoding: 'json', fsRoot: await putBlobs(writing, blobs) };
}

/** Stores blobs, and a tree that names them: what holds the tree keeps them all. */
async function putBlobs(writing: Writing, blobs: readonly BlobBytes[]): Promise<Hash> {
  const { counts } = writing;
  const named = await Promise.all(
    blobs.map(async ({ sha256, bytes }) => {
      const { hash, existed } = await putOnce(writing, sha256, bytes);
      counts.blobs += 1;
      if (existed) counts.blobsShared += 1;
      return [`blob:sha256:${sha256}`, hash] as const;
    }),
  );
  const tree = Buffer.from(JSON.stringify(Object.fromEntries(named)));
  return (await putOnce(writing, hashBytes(tree), tree)).hash;
}

/** Pictures and outputs come again and again. A blob that this import has put is there, and needs no commit. */
async function putOnce(
  { store, known }: Writing,
  name: string,
  bytes: Uint8Array,
): Promise<{ readonly hash: Hash; readonly existed: boolean }> {
  const before = await known.get(name);
  if (before !== undefined) return { hash: before, existed: true };
  const putting = store.blobs.put(bytes, { sha256: true });
  if (known.size >= KNOWN_MAX) known.clear();
  const putHash = putting.then(({ hash }) => hash);
  // Whoever put it sees the failure.
  putHash.catch(() => known.delete(name));
  known.set(name, putHash);
  return putting;
}

function mustHaveTurn(turn: TurnId | undefined): TurnId {
  if (turn === undefined) throw new TypeError('a turn is written after the turn before it');
  return turn;
}

function mustHaveContext({ context }: Slot): ContextId {
  if (context === undefined) throw new TypeError('a context is made before its turns');
  return context;
}
