import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { Access, Scope } from '../../src/server/access/access.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { look } from './browser-rig.ts';

afterAll(closeBrowser);

const note = (text: string): { type: string; payload: object } => ({
  type: 'chat.message',
  payload: { role: 'user', text },
});

it('shows turns as they are appended, and text as it is written', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'live' });
  await store.contexts.append(id, note('first'));
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await page.getByText('first', { exact: true }).waitFor();
  await store.contexts.append(id, note('second'));
  await page.getByText('second', { exact: true }).waitFor();
  const answer = await store.contexts.open(id, { type: 'chat.message' });
  await answer.write('It grows');
  await page.locator('.writing').getByText('It grows').waitFor();
  await answer.write(' before your eyes');
  await page.locator('.writing').getByText('It grows before your eyes').waitFor();
  await answer.seal();
  await page.locator('.writing').waitFor({ state: 'detached' });
  await expect.poll(() => page.locator('.turn').count()).toBe(3);
  expect(seen.problems).toEqual([]);
});

it('says that the connection is lost, and goes on without a gap or a repeat', async () => {
  const first = await serveHttp();
  const { folder, port } = first;
  const { id } = await first.store.contexts.create({ title: 'survivor' });
  await first.store.contexts.append(id, note('before'));
  const seen = await look(`${first.url}/c/${id}`);
  const { page } = seen;
  await page.getByText('before', { exact: true }).waitFor();
  await page.locator('.link.live').waitFor();
  await first.stop(0);
  await page.locator('.link.lost').waitFor();
  const second = await serveHttp({ folder, port });
  for (let n = 0; n < 5; n += 1) await second.store.contexts.append(id, note(`after ${n}`));
  await page.locator('.link.live').waitFor();
  await page.getByText('after 4', { exact: true }).waitFor();
  const texts = await page.locator('.turn .markdown').allInnerTexts();
  expect(texts.map((text) => text.trim())).toEqual([
    'before',
    ...[0, 1, 2, 3, 4].map((n) => `after ${n}`),
  ]);
  expect(seen.problems).toEqual([]);
});

it('scrolls through 100,000 turns with a bounded page', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'long' });
  for (let page = 0; page < 50; page += 1) {
    const turns = Array.from({ length: 2000 }, (_, n) => note(`turn number ${page * 2000 + n}`));
    await store.contexts.appendBatch(id, turns);
  }
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await page.getByText('turn number 99999', { exact: true }).waitFor();
  for (let step = 0; step < 40; step += 1) {
    await page.evaluate(`document.querySelector('.turns').scrollTop = 0`);
    await page.waitForTimeout(60);
  }
  const elements = await page.locator('.turn').count();
  expect(elements).toBeLessThan(150);
  await page.goto(`${url}/c/${id}/t/50001`);
  await page.getByText('turn number 50000', { exact: true }).waitFor();
  await page
    .getByText('Jump to the newest turn')
    .waitFor({ state: 'attached' })
    .catch(() => undefined);
  expect(seen.problems).toEqual([]);
});

const tokens: Access = {
  tokensNeeded: true,
  identify: async (token) =>
    token === 'read' || token === 'write' ? { name: token, scope: token as Scope } : undefined,
};

it('asks for a token, takes one from the address, and shows no act to readers', async () => {
  const { url, store } = await serveHttp({ access: tokens, loopbackHostsOnly: false });
  const { id } = await store.contexts.create({ title: 'guarded' });
  const turn = await store.contexts.append(id, note('guarded text'));
  const asked = await look(`${url}/c/${id}`);
  await asked.page.getByLabel('This store needs a token.').fill('read');
  await asked.page.getByRole('button', { name: 'Open' }).click();
  await asked.page.getByText('guarded text').click();
  await asked.page.getByRole('button', { name: 'Copy link' }).waitFor();
  expect(await asked.page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0);
  expect(await asked.page.getByRole('button', { name: 'Hide…' }).count()).toBe(0);

  const given = await look(`${url}/c/${id}#token=write`);
  await given.page.getByText('guarded text').click();
  expect(given.page.url()).not.toContain('token');
  await given.page.getByRole('button', { name: 'Fork from here' }).click();
  await given.page.waitForURL(
    (address) => /\/c\/\d+$/.test(address.pathname) && !address.pathname.endsWith(`/${id}`),
  );
  const { items } = await store.contexts.list();
  expect(items.map(({ base }) => base)).toContain(turn.id);
  expect(given.problems).toEqual([]);
});

it('works below a path of a proxy', async () => {
  const { url, port, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'behind a proxy' });
  await store.contexts.append(id, note('through the proxy'));
  const proxy = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? '').replace(/^\/deep\/prefix/, '') || '/';
    const headers = { ...incoming.headers, host: new URL(url).host };
    const onward = request({ port, path, headers, method: incoming.method }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    outgoing.on('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port: front } = proxy.address() as AddressInfo;
  const seen = await look(`http://127.0.0.1:${front}/deep/prefix/c/${id}`);
  await seen.page.getByText('through the proxy').waitFor();
  await seen.page.locator('.link.live').waitFor();
  await seen.page.getByRole('link', { name: 'Store' }).click();
  await seen.page.getByText('Health').waitFor();
  expect(new URL(seen.page.url()).pathname).toBe('/deep/prefix/store');
  await seen.page.reload();
  await seen.page.getByText('Health').waitFor();
  expect(seen.problems).toEqual([]);
});
