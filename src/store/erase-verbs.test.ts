import { expect, it } from 'vitest';
import { encodeUtf8 } from '../base/text.ts';
import { failure } from '../testing/engine-suite/fixture.ts';
import { ModelEngine } from '../testing/model-engine.ts';
import { createStore } from './create-store.ts';

const REASON = { reason: 'a secret' };

it('erasing a blob names the chats that need it, and erases it when told everywhere', async () => {
  const { blobs, chats } = createStore(new ModelEngine());
  const picture = encodeUtf8('a picture');
  const { hash } = await blobs.put(picture);
  const neededBy: { kind: string; id: string }[] = [];
  for (const title of ['one', 'two']) {
    const { id } = await chats.create({ title });
    await (await chats.open(id)).attach(picture, { name: 'a.png' });
    neededBy.push({ kind: 'chats', id });
  }
  const report = await blobs.erase(hash, REASON);
  expect(report).toMatchObject({ erased: false, usedBy: [] });
  expect(report.neededBy).toHaveLength(2);
  expect(report.neededBy).toEqual(expect.arrayContaining(neededBy));
  expect(await blobs.has(hash)).toBe(true);
  const [first, second] = neededBy;
  expect(await blobs.erase(hash, { ...REASON, letGo: [first!] })).toMatchObject({
    erased: false,
    neededBy: [second],
  });
  await failure(blobs.erase(hash, { ...REASON, letGo: ['x'] as never }), 'INVALID');
  expect(await blobs.erase(hash, { ...REASON, letGo: neededBy })).toMatchObject({ erased: true });
  expect(await blobs.has(hash)).toBe(false);
});

it('erasing a blob names the sessions whose files a client of the server keeps', async () => {
  const engine = new ModelEngine();
  const { blobs } = createStore(engine);
  const { hash } = await blobs.put(encodeUtf8('a picture'));
  const page = JSON.stringify({ ['0'.repeat(64)]: hash });
  await engine.commit({ docs: [{ name: 'away/session-refs/s1/000000', content: page }] });
  expect(await blobs.erase(hash, REASON)).toMatchObject({
    erased: false,
    neededBy: [{ kind: 'sessions of clients', id: 's1' }],
  });
  expect(await blobs.erase(hash, { ...REASON, everywhere: true })).toMatchObject({ erased: true });
});
