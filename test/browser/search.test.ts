import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { closeBrowser } from '../support/chromium.ts';
import { look, note, serveWithSearch } from './browser-rig.ts';

afterAll(closeBrowser);

/** The words that are marked, in their order. */
const marked = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...(CSS.highlights.get('found') ?? [])].map(String)`);

/** Types a query, waits for the hit with this text, and opens it with Enter. */
async function openHit(page: Page, query: string, snippet: string): Promise<void> {
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Search everything' }).fill(query);
  await page.locator('.hit.on', { hasText: snippet }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('.turn.on').waitFor();
}

it('marks the words of a search in text, code and folded calls, and adds no element to them', async () => {
  const { url, store } = await serveWithSearch();
  const { id } = await store.contexts.create({ title: 'marks' });
  const code = '```ts\nconst zebraCount = parse(zebra_input);\n```';
  await store.contexts.append(id, note(`A **zeb**ra, <b>a zebra</b> and no Zebras.\n\n${code}`));
  const lines = Array.from({ length: 400 }, (_, n) => `line ${n}`);
  lines[350] = 'line 350 has a giraffe, naïve and 大きい';
  await store.contexts.appendBatch(id, [
    {
      type: 'tool.call',
      payload: { name: 'Bash', input: { command: 'ls', deep: { animal: 'a hyena' } } },
    },
    { type: 'tool.result', payload: { name: 'Bash', output: lines.join('\n') } },
    note(`${'many words '.repeat(8000)} a lonely okapi`),
  ]);
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await page.locator('.turn .hljs').waitFor();
  const before = await page.locator('#turn-1 .markdown').innerHTML();
  expect(await marked(page)).toEqual([]);

  await openHit(page, 'zebra', 'and no Zebras');
  await expect.poll(() => marked(page)).toEqual(['zebra', 'zebra', 'zebra', 'zebra']);
  expect(await page.locator('#turn-1 .markdown').innerHTML()).toBe(before);

  // Far down in the output of a call that is folded.
  await openHit(page, 'giraffe', 'has a giraffe');
  await expect.poll(() => marked(page)).toEqual(['giraffe']);
  await expect.poll(() => isInSight(page)).toBe(true);
  const fold = page.locator('.turn.on details.fold');
  expect(await fold.getAttribute('open')).not.toBeNull();
  // A fold that the reader closes stays closed.
  await fold.locator('summary').first().click();
  await expect.poll(() => fold.getAttribute('open')).toBeNull();

  await openHit(page, 'hyena', 'a hyena');
  await expect.poll(() => marked(page)).toEqual(['hyena']);
  await expect.poll(() => isInSight(page)).toBe(true);

  // Behind what is drawn of a long text, and with an address that can be shared.
  await openHit(page, '"lonely okapi"', 'a lonely okapi');
  await expect.poll(() => marked(page)).toEqual(['lonely okapi']);
  await expect.poll(() => isInSight(page)).toBe(true);
  await page.reload();
  await expect.poll(() => marked(page)).toEqual(['lonely okapi']);

  // A text that is no query marks nothing.
  await page.goto(`${url}/c/${id}/t/1?q=%22open`);
  await page.locator('.turn.on').waitFor();
  expect(await marked(page)).toEqual([]);
  expect(seen.problems).toEqual([]);
});

/** Whether the first mark can be seen. */
const isInSight = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`(() => {
    const [range] = CSS.highlights.get('found') ?? [];
    if (range === undefined) return false;
    const { top, bottom, width } = range.getBoundingClientRect();
    const list = document.querySelector('.turns').getBoundingClientRect();
    return width > 0 && top >= list.top && bottom <= list.bottom;
  })()`);

it('marks the message of a chat, and selects the word in a browser without highlights', async () => {
  const { url, store } = await serveWithSearch();
  const { id } = await store.chats.create({ title: 'animals' });
  const chat = await store.chats.open(id);
  await chat.add({ role: 'user', content: 'Where does the okapi live?' });
  const seen = await look(url);
  const { page } = seen;
  await page.locator('.item').first().waitFor();
  await openHit(page, 'okapi', 'Where does the okapi live');
  await expect.poll(() => marked(page)).toEqual(['okapi']);
  await page.addInitScript('delete CSS.highlights');
  await page.reload();
  await expect.poll(() => page.evaluate<string>('String(getSelection())')).toBe('okapi');
  expect(seen.problems).toEqual([]);
});
