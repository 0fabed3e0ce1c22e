import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { look, note, said } from '../browser/browser-rig.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';

afterAll(closeBrowser);

const TURNS = 1_000_000;
const BATCH = 5000;
const STEPS = 40;

/** The lowest and the highest number of a turn that is drawn. */
const drawnOf = (page: Page): Promise<[number, number]> =>
  page.evaluate<[number, number]>(`(() => {
    const ids = [...document.querySelectorAll('.turn[id]')].map(({ id }) => Number(id.slice(5)));
    return [Math.min(...ids), Math.max(...ids)];
  })()`);

/** Scrolls to one end of what is loaded, again and again: each time the server is asked for a page. */
async function scroll(page: Page, to: 'up' | 'down'): Promise<void> {
  const at = to === 'up' ? 0 : 1;
  const top = to === 'up' ? '0' : 'list.scrollHeight';
  for (let step = 0; step < STEPS; step += 1) {
    const before = (await drawnOf(page))[at];
    const scrolled = async (): Promise<boolean> => {
      await page.evaluate(
        `{ const list = document.querySelector('.turns'); list.scrollTop = ${top}; }`,
      );
      const now = (await drawnOf(page))[at];
      return to === 'up' ? now < before : now > before;
    };
    await expect.poll(scrolled).toBe(true);
    expect(await page.locator('.turn').count()).toBeLessThan(150);
  }
}

it('scrolls through a thread of a million turns from its end, its start and its middle', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'long' });
  for (let from = 0; from < TURNS; from += BATCH) {
    const turns = Array.from({ length: BATCH }, (_, n) => note(`turn number ${from + n + 1}`));
    await store.contexts.appendBatch(id, turns);
  }
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await said(page, `turn number ${TURNS}`).waitFor();
  let requests = 0;
  page.on('request', () => (requests += 1));

  await scroll(page, 'up');
  expect((await drawnOf(page))[0]).toBeLessThan(TURNS - 600);
  for (const [turn, ways] of [
    [1, ['down']],
    [TURNS / 2, ['up', 'down']],
  ] as const) {
    await page.goto(`${url}/c/${id}/t/${turn}`);
    await said(page, `turn number ${turn}`).waitFor();
    for (const way of ways) await scroll(page, way);
  }
  // A page of turns for each step, and some for the views around the list.
  expect(requests).toBeLessThan(4 * STEPS * 4);
  await page.goto(`${url}/c/${id}/branches`);
  await page
    .locator('#content')
    .getByText(/1 branch, 1,000,000 turns/)
    .first()
    .waitFor();
  expect(seen.problems).toEqual([]);
});
