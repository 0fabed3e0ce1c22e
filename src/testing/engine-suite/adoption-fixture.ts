import { toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import { sha256Hex } from '../../base/hash.ts';
import type { Engine } from '../../engine/engine.ts';
import { append, appendBatch, blobOf, createContext, patchTurn } from './fixture.ts';
import { Ears, sweep } from './upkeep-fixture.ts';

export function keyOf(context: bigint, text: string): { context: ContextId; key: string } {
  return { context: toContextId(context), key: text };
}

/** Writes some of everything, with turns that are gone, a removed context, an erased payload and a replaced root. */
export async function fillForCopy(engine: Engine): Promise<void> {
  const removed = await createContext(engine);
  const gone = { ...appendBatch(removed.id, 'gone'), idempotency: keyOf(removed.id, 'k') };
  await engine.commit(gone);
  await patchTurn(engine, toTurnId(1), 'patched, gone');
  const { id } = await createContext(engine, { meta: { title: 'one', labels: ['l'] } });
  const tree = blobOf('tree');
  await engine.commit({ blobs: [tree, blobOf('tree 2')] });
  await append(engine, removed.id, 'gone, too');
  await append(engine, id, 'first', { fsRoot: tree.hash });
  const withKey = { ...appendBatch(id, 'with a key'), idempotency: keyOf(id, 'k') };
  await engine.commit(withKey);
  await append(engine, id, 'to be erased', { parent: toTurnId(3) });
  await engine.commit({ fsRoots: [{ turn: toTurnId(3), root: blobOf('tree 2').hash }] });
  await engine.commit({ contexts: [{ do: 'remove', context: removed.id }] });
  await createContext(engine, { base: toTurnId(4), meta: { name: 'named' } });
  await patchTurn(engine, toTurnId(3), 'better');
  await patchTurn(engine, toTurnId(4), 'hidden', { tombstone: true });
  await engine.commit({ docs: [{ name: 'plain/doc', content: '{"a":1}' }] });
  await engine.commit({ docs: [{ name: 'plain/doc', content: '{"a":2}' }] });
  await engine.commit({ docs: [{ name: 'out/shown.json', content: '[]', publish: true }] });
  const named = blobOf('named');
  await engine.commit({ blobs: [{ ...named, sha256: sha256Hex(named.bytes) }] });
  await engine.upkeep.eraseBlob(blobOf('to be erased').hash);
  const collection = await new Ears().start(engine, 0);
  const alive = [3, 4, 5].map((turn) => toTurnId(turn));
  const blobs = ['tree 2', 'first', 'with a key', 'better', 'hidden', 'named'];
  await sweep(collection, new Ears(), { turns: alive, blobs });
}
