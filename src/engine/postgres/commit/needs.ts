import { type Hash, NO_TURN } from '../../../base/brand.ts';
import { hexOf } from '../../../base/hash.ts';
import { forkKeyName } from '../../../format/fork-key.ts';
import { headMovesName } from '../../../format/head-moves.ts';
import type { Adoption } from '../../adoption.ts';
import type { ContextChange, Idempotency } from '../../batch.ts';
import type { PreparedBatch } from '../../plan/prepared-batch.ts';
import { NotInMemory } from '../../plan/draft.ts';
import { idempotencyHash } from '../../../format/idempotency.ts';

/** The rows that a group will need, as far as its batches name them. */
class Needs {
  readonly blobs: Set<Hash> = new Set();
  /** Blobs that may be missing if they were erased. */
  readonly erased: Set<Hash> = new Set();
  readonly sha256s: Set<string> = new Set();
  readonly contexts: Set<number> = new Set();
  /** Names of contexts. */
  readonly names: Set<string> = new Set();
  readonly turns: Set<number> = new Set();
  readonly openTurns: Set<number> = new Set();
  /** Hashes of keys. */
  readonly keys: string[] = [];
  readonly docs: Set<string> = new Set();
  readonly logs: Set<string> = new Set();
  /** Names of plain files and of the folders that would hold them. */
  readonly files: Set<string> = new Set();
}

export function collectNeeds(batches: readonly PreparedBatch[]): Needs {
  const needs = new Needs();
  for (const batch of batches) {
    for (const { hash, sha256 } of batch.blobs) {
      needs.blobs.add(hash);
      if (sha256 !== undefined) needs.sha256s.add(sha256);
    }
    collectContexts(needs, batch);
    collectTurns(needs, batch);
    collectRecords(needs, batch);
    if (batch.adoption !== undefined) collectAdoption(needs, batch.adoption);
  }
  return needs;
}

function collectContexts(needs: Needs, { changes }: PreparedBatch): void {
  if (changes.idempotency !== undefined) addKey(needs, changes.idempotency);
  for (const change of changes.contexts ?? []) {
    const name = nameIn(change);
    if (name !== undefined) needs.names.add(name);
    if (change.do === 'create') {
      if (change.base !== undefined) needs.turns.add(Number(change.base));
      if (change.key !== undefined) {
        needs.docs.add(forkKeyName(change.base ?? NO_TURN, change.key));
      }
      continue;
    }
    needs.contexts.add(Number(change.context));
    if (change.do === 'move') needs.turns.add(Number(change.head));
    if (change.do === 'move' || change.do === 'remove') {
      needs.docs.add(headMovesName(change.context));
    }
  }
  for (const { context, parent, fsRoot } of [...(changes.turns ?? []), ...(changes.opens ?? [])]) {
    if (typeof context === 'bigint') needs.contexts.add(Number(context));
    if (parent !== undefined) needs.turns.add(Number(parent));
    if (fsRoot !== undefined) needs.blobs.add(fsRoot);
  }
}

function nameIn(change: ContextChange): string | undefined {
  if (change.do === 'rename') return change.name;
  return change.do === 'create' ? change.meta?.name : undefined;
}

function collectTurns(needs: Needs, { changes }: PreparedBatch): void {
  for (const { payload, context, key } of changes.turns ?? []) {
    needs.blobs.add(payload);
    if (key !== undefined && typeof context === 'bigint') addKey(needs, { context, key });
  }
  for (const { turn } of changes.deltas ?? []) {
    needs.turns.add(Number(turn));
    needs.openTurns.add(Number(turn));
  }
  for (const { turn, payload } of changes.seals ?? []) {
    needs.turns.add(Number(turn));
    needs.openTurns.add(Number(turn));
    if (payload !== undefined) needs.blobs.add(payload);
  }
  for (const { turn, payload } of changes.patches ?? []) {
    needs.turns.add(Number(turn));
    needs.blobs.add(payload);
  }
  for (const { turn, root } of changes.fsRoots ?? []) {
    needs.turns.add(Number(turn));
    needs.blobs.add(root);
  }
}

function collectRecords(needs: Needs, { changes }: PreparedBatch): void {
  for (const { name } of changes.logs ?? []) {
    needs.logs.add(name);
    addFiles(needs.files, name);
  }
  for (const { name, publish = false } of changes.docs ?? []) {
    needs.docs.add(name);
    if (publish) addFiles(needs.files, name);
  }
}

function collectAdoption(needs: Needs, adoption: Adoption): void {
  const addPayload = (hash: Hash): void => {
    needs.blobs.add(hash);
    needs.erased.add(hash);
  };
  for (const hash of adoption.erased ?? []) addPayload(hash);
  for (const { sha256, hash } of adoption.sha256Names ?? []) {
    needs.sha256s.add(sha256);
    needs.blobs.add(hash);
  }
  for (const context of adoption.contexts ?? []) {
    needs.contexts.add(Number(context.id));
    if (context.removed !== undefined) {
      needs.docs.add(headMovesName(context.id));
      continue;
    }
    needs.turns.add(Number(context.base));
    if (context.movedTo !== undefined) needs.turns.add(Number(context.movedTo));
    if (context.meta.name !== undefined) needs.names.add(context.meta.name);
  }
  for (const entry of adoption.turns ?? []) {
    if (entry.key !== undefined) needs.keys.push(hexOf(entry.key));
    if (entry.gone !== undefined) continue;
    needs.turns.add(Number(entry.row.parent));
    needs.contexts.add(Number(entry.row.context));
    if (entry.row.payload !== undefined) addPayload(entry.row.payload);
  }
  for (const entry of adoption.patches ?? []) {
    if ('gone' in entry) continue;
    needs.turns.add(Number('patch' in entry ? entry.patch.turn : entry.fsRoot.turn));
    addPayload('patch' in entry ? entry.patch.payload : entry.fsRoot.root);
  }
  for (const { row, published } of adoption.docs ?? []) {
    needs.docs.add(row.name);
    if (published) addFiles(needs.files, row.name);
  }
}

function addKey(needs: Needs, { context, key }: Idempotency): void {
  needs.keys.push(idempotencyHash(context, key));
}

function addFiles(files: Set<string>, name: string): void {
  files.add(name);
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
    files.add(name.slice(0, at));
  }
}

/** The known state of some rows: present with a value, absent, or never asked for. */
export class Known<K, V> {
  readonly #values: Map<K, V | undefined> = new Map();
  readonly #read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>;

  readonly #isPossible: (key: K) => boolean;

  /** An impossible key counts as absent and is never sent: the database would refuse the statement. */
  constructor(
    read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>,
    isPossible: (key: K) => boolean = () => true,
  ) {
    this.#read = read;
    this.#isPossible = isPossible;
  }

  /** Reads those of `keys` that were not read before, all at once. */
  async load(keys: Iterable<K>): Promise<void> {
    const wanted = [...new Set(keys)].filter((key) => !this.#values.has(key));
    if (wanted.length === 0) return;
    const possible = wanted.filter(this.#isPossible);
    this.learn(wanted, possible.length === 0 ? [] : await this.#read(possible));
  }

  /** Records an answer: the keys of `asked` that are not in `found` are absent. */
  learn(asked: Iterable<K>, found: Iterable<readonly [K, V]>): void {
    for (const key of asked) if (!this.#values.has(key)) this.#values.set(key, undefined);
    for (const [key, value] of found) this.#values.set(key, value);
  }

  async get(key: K): Promise<V | undefined> {
    await this.load([key]);
    return this.#values.get(key);
  }

  /** Undefined also when the key was never asked for. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /** A plan that needs a value before it was read is made again once the value is there. */
  need(key: K): V | undefined {
    if (this.#values.has(key)) return this.#values.get(key);
    throw new NotInMemory(() => this.load([key]));
  }
}
