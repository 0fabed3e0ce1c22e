import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import type { Hash } from '../../src/base/brand.ts';
import type { Access, Scope } from '../../src/server/access/access.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { look, note, said } from './browser-rig.ts';

afterAll(closeBrowser);

const tokens: Access = {
  tokensNeeded: true,
  identify: async (token) =>
    token === 'read' || token === 'write' ? { name: token, scope: token as Scope } : undefined,
};
const ACTS = ['Fork from here', 'Pin', 'Hide…', 'Rename…', 'Labels…', 'Export'];

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

/** Answers the question that is open. */
async function answer(page: Page, text: string, yes: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(text);
  await dialog.getByRole('button', { name: yes, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

it('asks for a token, takes one from the address, and shows no act to readers', async () => {
  const { url, store } = await serveHttp({ access: tokens, loopbackHostsOnly: false });
  const { id } = await store.contexts.create({ title: 'guarded' });
  await store.contexts.append(id, note('guarded text'));
  const { id: thread } = await store.workflows.start({
    name: 'solve',
    prompt: 'do it',
    bundle: '0'.repeat(64) as Hash,
  });
  await store.workflows.step(thread, { role: 'coder', content: 'a step' });
  const asked = await look(`${url}/c/${id}`);
  await asked.page.getByLabel('This store needs a token.').fill('read');
  await asked.page.getByRole('button', { name: 'Open' }).click();
  await said(asked.page, 'guarded text').click();
  await asked.page.getByRole('button', { name: 'Copy link' }).waitFor();
  for (const name of ACTS) {
    expect(await asked.page.getByRole('button', { name }).count(), name).toBe(0);
  }
  await asked.page.goto(`${url}/w/${thread}`);
  await said(asked.page, 'a step').waitFor();
  await asked.page.locator('.look').getByText('coder').waitFor();
  expect(await asked.page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0);
  await asked.page.goto(`${url}/store`);
  await said(asked.page, 'Health').waitFor();
  expect(await asked.page.getByRole('button', { name: 'Verify now' }).count()).toBe(0);

  // A code from the address becomes the token of whoever asked for it, once.
  const headers = { authorization: 'Bearer read' };
  const offered = await fetch(`${url}/v1/sign-in/code`, { method: 'POST', headers });
  const { code } = (await offered.json()) as { code: string };
  const signedIn = await look(`${url}/c/${id}#code=${code}`);
  await said(signedIn.page, 'guarded text').waitFor();
  expect(signedIn.page.url()).not.toContain('code');
  const late = await look(`${url}/c/${id}#code=${code}`);
  await late.page.getByLabel('This store needs a token.').waitFor();

  // The twin: with the other scope they are there.
  const given = await look(`${url}/c/${id}#token=write`);
  await said(given.page, 'guarded text').click();
  expect(given.page.url()).not.toContain('token');
  for (const name of ACTS) await given.page.getByRole('button', { name }).first().waitFor();
  expect(given.problems).toEqual([]);
});

it('forks, renames, labels, pins and exports', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'first title' });
  const turn = await store.contexts.append(id, note('what was **said**'));
  const seen = await look(`${url}/c/${id}/t/${turn.id}`, { acceptDownloads: true });
  const { page } = seen;
  await press(page, 'Rename…');
  await answer(page, 'second title', 'Rename');
  await expect.poll(async () => (await store.contexts.get(id))?.title).toBe('second title');
  await page.getByRole('heading', { name: 'second title' }).waitFor();
  await press(page, 'Labels…');
  await answer(page, 'one, two', 'Change');
  await expect.poll(async () => (await store.contexts.get(id))?.labels).toEqual(['one', 'two']);
  await press(page, 'Pin');
  await page.getByRole('button', { name: 'Unpin' }).waitFor();
  expect(await store.contexts.pins()).toHaveLength(1);
  await press(page, 'Unpin');
  await page.getByRole('button', { name: 'Pin', exact: true }).waitFor();
  const download = page.waitForEvent('download');
  await press(page, 'Export');
  const text = await readFile((await (await download).path())!, 'utf8');
  expect(text).toBe('# second title\n\n**user**\n\nwhat was **said**\n');
  await press(page, 'Fork from here');
  await answer(page, 'another way', 'Fork');
  await page.waitForURL((address) => !address.pathname.startsWith(`/c/${id}`));
  const { items } = await store.contexts.list();
  expect(items.find(({ title }) => title === 'another way')?.base).toBe(turn.id);
  expect(seen.problems).toEqual([]);
});

it('asks before it hides, and hides nothing when the answer is no', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'secrets' });
  const turn = await store.contexts.append(id, note('a secret'));
  const seen = await look(`${url}/c/${id}/t/${turn.id}`);
  const { page } = seen;
  const isHidden = async (): Promise<boolean | undefined> =>
    (await store.contexts.last(id, 1)).turns[0]?.tombstone;
  for (const leave of [() => press(page, 'Cancel'), () => page.keyboard.press('Escape')]) {
    await press(page, 'Hide…');
    await page.getByRole('dialog').getByText(`Hide turn ${turn.id}?`).waitFor();
    await leave();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await isHidden()).not.toBe(true);
  }
  await said(page, 'a secret').waitFor();
  await press(page, 'Hide…');
  await answer(page, 'it was printed', 'Hide');
  await said(page, 'This turn was hidden: it was printed').waitFor();
  expect(await isHidden()).toBe(true);
  expect(seen.problems).toEqual([]);
});
