import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { orNothing } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Store } from '../../store/store.ts';
import { SeededRandom } from '../disk/seeded-random.ts';
import { type Files, findBytes } from './find-bytes.ts';

// A store with secrets of every kind between texts that stay, and the ways to erase them.

export interface Secret {
  readonly name: string;
  /** The texts that must be nowhere after the erasure. */
  readonly texts: readonly string[];
  readonly erase: (store: Store) => Promise<unknown>;
}

export interface SecretStore {
  readonly secrets: readonly Secret[];
  readonly context: ContextId;
  /** Turns that stay, and their texts. */
  readonly kept: readonly (readonly [TurnId, string])[];
}

const REASON = { reason: 'it was a secret' };
const EVERYWHERE = { ...REASON, everywhere: true };

/** A text that occurs nowhere else and is hard to compress. */
function noise(seed: number, length: number): string {
  const random = new SeededRandom(seed);
  let text = '';
  while (text.length < length) text += random.bits().toString(36);
  return text.slice(0, length);
}

/** The first of `large` is the payload of a turn, the second a loose blob. */
export async function fillSecrets(store: Store, large: readonly string[]): Promise<SecretStore> {
  const { contexts, blobs } = store;
  const { id: context } = await contexts.create({ title: 'with secrets' });
  const kept: [TurnId, string][] = [];
  const secrets: Secret[] = [];
  const write = async (payload: string): Promise<TurnId> =>
    (await contexts.append(context, { type: 'note', payload, encoding: 'text' })).id;
  const keep = async (text: string): Promise<void> => void kept.push([await write(text), text]);
  const addTurn = (name: string, turn: TurnId, texts: readonly string[]): void => {
    secrets.push({ name, texts, erase: (opened) => opened.contexts.erase(turn, EVERYWHERE) });
  };
  const addBlob = (name: string, text: string): void => {
    const erase: Secret['erase'] = (opened) => opened.blobs.erase(hashOf(text), EVERYWHERE);
    secrets.push({ name, texts: [text], erase });
  };

  await keep('before');
  const dull = `${noise(2, 30)} `.repeat(100);
  addTurn('a turn that is compressed', await write(dull), [dull]);
  await keep('between '.repeat(100));
  const [first, patch] = [noise(3, 50), noise(4, 3000)];
  const patched = await write(first);
  await contexts.patch(patched, patch, { encoding: 'text' });
  addTurn('a patched turn', patched, [first, patch]);
  const streamed = noise(5, 200);
  const open = await contexts.open(context, { type: 'note' });
  await open.write(streamed.slice(0, 90));
  await open.write(streamed.slice(90));
  addTurn('a streamed turn', (await open.seal()).id, [streamed]);
  const shared = noise(6, 60);
  await write(shared);
  await contexts.patch(await write('shows something else'), shared, { encoding: 'text' });
  addBlob('a shared blob', shared);
  const [payload, loose] = large;
  if (payload !== undefined) addTurn('a large turn', await write(payload), [payload]);
  if (loose !== undefined) {
    await blobs.put(new TextEncoder().encode(loose), { sha256: true });
    addBlob('a large blob', loose);
  }
  await keep('after');
  return { secrets, context, kept };
}

/** Two texts that are stored in chunks: one that does not compress, and one that does. */
export function largeTexts(length: number): string[] {
  return [noise(7, length), `${noise(8, 5000)} `.repeat(length / 5000)];
}

function hashOf(text: string): Hash {
  return hashBytes(new TextEncoder().encode(text));
}

/** Returns the places where any part of these texts is left. */
export function findTexts(files: Files, texts: readonly string[]): string[] {
  const all = [...files];
  return texts.flatMap((text) => findBytes(all, new TextEncoder().encode(text)));
}

/**
 * Checks that every erased text is gone, that a text whose erasure was begun is whole or gone, and that everything else
 * is unchanged.
 */
export async function checkErased(
  store: Store,
  { secrets, kept }: SecretStore,
  given: { files: Files; erased: readonly string[] },
): Promise<void> {
  for (const { name, texts } of secrets) {
    for (const text of texts) {
      const bytes = await store.blobs.get(hashOf(text));
      if (bytes !== undefined && new TextDecoder().decode(bytes) === text) {
        if (given.erased.includes(name)) throw new Error(`${name} can still be read`);
        continue;
      }
      const found = findTexts(given.files, [text]);
      if (found.length > 0) throw new Error(`${name} is left: ${found.join()}`);
    }
  }
  for (const [turn, text] of kept) {
    if ((await store.contexts.turn(turn))?.payload !== text) throw new Error(`${turn} has changed`);
  }
  const { problems } = await store.maintain.verify();
  if (problems.length > 0) throw new Error(`verify finds ${JSON.stringify(problems.slice(0, 3))}`);
}

/** Erases all secrets. The erasure of a secret that is gone already may fail. */
export async function eraseAll(
  store: Store,
  secrets: readonly Secret[],
  done: (name: string) => void = () => undefined,
): Promise<void> {
  for (const { name, erase } of secrets) {
    await orNothing(() => erase(store), 'NOT_FOUND');
    done(name);
  }
}
