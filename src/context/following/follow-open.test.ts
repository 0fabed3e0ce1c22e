import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { ModelEngine } from '../../testing/model-engine.ts';
import { PATIENCE } from '../../testing/patience.ts';
import { createContexts } from '../verbs/create-contexts.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Remembers the bytes that it gave, and does not keep them. */
class ForgetfulEngine extends ModelEngine {
  readonly given: WeakRef<Uint8Array>[] = [];

  override async getOpenTurn(id: Parameters<ModelEngine['getOpenTurn']>[0]) {
    const open = await super.getOpenTurn(id);
    if (open === undefined) return undefined;
    const bytes = open.bytes.slice();
    this.given.push(new WeakRef(bytes));
    return { ...open, bytes };
  }
}

const TEXT = Array.from({ length: 100_000 }, (_, n) => `${n} `).join('');

async function followers(count: number) {
  const engine = new ForgetfulEngine();
  const contexts = createContexts(engine);
  const { id } = await contexts.create();
  const turn = await contexts.open(id, { type: 't' });
  await turn.write(TEXT);
  await turn.flush();
  engine.given.length = 0;
  const all = Array.from({ length: count }, () =>
    contexts.followOpen(turn.id)[Symbol.asyncIterator](),
  );
  return { engine, turn, all };
}

async function take(pieces: AsyncIterator<Uint8Array, void>): Promise<Uint8Array | undefined> {
  const { done, value } = await pieces.next();
  return done === true ? undefined : value;
}

async function rest(pieces: AsyncIterator<Uint8Array, void>): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let next = await take(pieces); next !== undefined; next = await take(pieces))
    parts.push(next);
  expect(parts.every(({ length }) => length <= 32_768)).toBe(true);
  return Buffer.concat(parts).toString();
}

it('reads a turn once for many followers that begin at the same time', async () => {
  const { engine, turn, all } = await followers(50);
  const firsts = await Promise.all(all.map(take));
  expect(engine.given.length).toBeLessThan(5);
  await turn.write('more');
  await turn.seal();
  const texts = await Promise.all(all.map(rest));
  const whole = texts.map((text, at) => Buffer.from(firsts[at] ?? []).toString() + text);
  expect(new Set(whole)).toEqual(new Set([`${TEXT}more`]));
});

it('holds a piece for a follower that stands still, and reads the turn again for the next', async () => {
  const { engine, turn, all } = await followers(1);
  const [pieces] = all as [AsyncIterator<Uint8Array, void>];
  const first = await take(pieces);
  await expect
    .poll(() => {
      collectGarbage();
      return engine.given.filter((bytes) => bytes.deref() !== undefined).length;
    }, PATIENCE)
    .toBe(0);
  const second = await take(pieces);
  expect(engine.given.length).toBeGreaterThan(1);
  await turn.seal();
  const begin = Buffer.concat([first ?? '', second ?? ''].map((piece) => Buffer.from(piece)));
  expect(begin.toString() + (await rest(pieces))).toBe(TEXT);
});
