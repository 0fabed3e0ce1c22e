import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { Hash } from '../../src/base/brand.ts';
import type { Store } from '../../src/store/store.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { look, said } from './browser-rig.ts';

afterAll(closeBrowser);

// More than the window of a list holds: pages leave at the other end, and are read again on the way back.
const COUNT = 1000;
const wordAt = (n: number): string => `word number ${n}`;

/** The address of the thread, and that of the item in its middle. */
type Fill = (store: Store) => Promise<{ path: string; middle: string }>;

const fillChat: Fill = async (store) => {
  const { id } = await store.chats.create({ title: 'long' });
  const chat = await store.chats.open(id);
  let middle = '';
  for (let n = 0; n < COUNT; n += 1) {
    const event = await chat.add({ id: `m${n}`, role: 'user', content: wordAt(n) });
    if (n === COUNT / 2) middle = event.id;
  }
  return { path: `/chat/${id}`, middle: `/chat/${id}/m/${middle}` };
};

const fillSession: Fill = async (store) => {
  await using session = await store.sessions.create({ cwd: '/project' });
  const entries = await Promise.all(
    Array.from({ length: COUNT }, (_, n) =>
      session.append({ type: 'message', message: { role: 'user', content: wordAt(n) } }),
    ),
  );
  return { path: `/s/${session.id}`, middle: `/s/${session.id}/e/${entries[COUNT / 2]?.id}` };
};

const fillWorkflow: Fill = async (store) => {
  const { workflows } = store;
  const bundle = '0'.repeat(64) as Hash;
  const { id } = await workflows.start({
    name: 'long',
    bundle,
    prompt: 'Count.',
    maxRounds: COUNT,
  });
  for (let n = 0; n < COUNT; n += 1)
    await workflows.step(id, { role: 'coder', content: wordAt(n) });
  const { steps } = await workflows.steps(id, { limit: COUNT });
  return { path: `/w/${id}`, middle: `/w/${id}/s/${steps[COUNT / 2]?.hash}` };
};

/** Scrolls to one end, again and again while pages come, until the word is drawn. */
async function scrollUntil(page: Page, to: 'top' | 'bottom', word: string): Promise<void> {
  const isThere = async (): Promise<number> => {
    await page.evaluate(`{
      const list = document.querySelector('.turns');
      list.scrollTop = ${to === 'top' ? '0' : 'list.scrollHeight'};
    }`);
    expect(await page.locator('.turn').count()).toBeLessThan(150);
    return said(page, word).count();
  };
  await expect.poll(isThere, { timeout: 45_000, interval: 20 }).toBe(1);
}

it.each([
  ['chat', fillChat],
  ['session', fillSession],
  ['workflow', fillWorkflow],
] as const)(
  'scrolls a long %s from end to end, with a bounded page',
  { timeout: 180_000 },
  async (_, fill) => {
    const { url, store } = await serveHttp();
    const { path, middle } = await fill(store);
    const seen = await look(url + path);
    const { page } = seen;
    await said(page, wordAt(COUNT - 1)).waitFor();
    await scrollUntil(page, 'top', wordAt(0));
    await scrollUntil(page, 'bottom', wordAt(COUNT - 1));
    await page.goto(url + middle);
    await page
      .locator('.turn.on')
      .getByText(wordAt(COUNT / 2), { exact: true })
      .waitFor();
    await scrollUntil(page, 'bottom', wordAt(COUNT - 1));
    expect(seen.problems).toEqual([]);
  },
);

it('stays at the end of a chat while others write, and at its place while one reads above', async () => {
  const { url, store } = await serveHttp();
  const { path } = await fillChat(store);
  const id = path.slice('/chat/'.length);
  const chat = await store.chats.open(id);
  const seen = await look(url + path);
  const { page } = seen;
  await said(page, wordAt(COUNT - 1)).waitFor();
  for (let n = 0; n < 5; n += 1) {
    await chat.add({ role: 'assistant', content: `answer ${n}` });
    await said(page, `answer ${n}`).waitFor();
  }
  await scrollUntil(page, 'top', wordAt(0));
  await chat.add({ role: 'assistant', content: 'the last answer' });
  await scrollUntil(page, 'bottom', 'the last answer');
  expect(seen.problems).toEqual([]);
});
