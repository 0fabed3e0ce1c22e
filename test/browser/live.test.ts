import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { Hash } from '../../src/base/brand.ts';
import { openStore } from '../../src/open-store.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { projectPath } from '../support/project.ts';
import { look, note, said, serveWithSearch } from './browser-rig.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

afterAll(closeBrowser);

it('shows turns as they are appended, and text as it is written', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'live' });
  await store.contexts.append(id, note('first'));
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await said(page, 'first').waitFor();
  await store.contexts.append(id, note('second'));
  await said(page, 'second').waitFor();
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

it('shows a workflow step by step, with its references and the runs before, and forks from any step', async () => {
  const { url, store } = await serveHttp();
  const { workflows } = store;
  const { hash } = await store.blobs.put(Buffer.from('what a step refers to'));
  const today = (): string => new Date().toISOString().slice(0, 10);
  const begunOn = today();
  const start = { name: 'solve', bundle: '0'.repeat(64) as Hash };
  const earlier = await workflows.start({ ...start, prompt: 'an earlier run' });
  await workflows.end(earlier.id, { returnCode: 0, summary: 'done' });
  const { id } = await workflows.start({ ...start, prompt: 'find out why' });
  await workflows.step(id, { role: 'planner', content: 'a plan', meta: { n: 1 }, refs: [hash] });
  const seen = await look(`${url}/w/${id}`);
  const { page } = seen;
  await said(page, 'a plan').waitFor();
  await said(page, 'waits for the next step').waitFor();
  await page.locator('.fold', { hasText: 'Reference' }).locator('summary').click();
  await said(page, 'what a step refers to').waitFor();
  const history = page.locator('.runs');
  await history.getByText('under way').waitFor();
  // Midnight may have come since.
  await history.getByText(new RegExp(`^(?:${begunOn}|${today()})$`)).waitFor();
  await history.getByRole('link', { name: 'an earlier run' }).waitFor();
  await workflows.step(id, { role: 'coder', content: 'the second step' });
  await said(page, 'the second step').waitFor();
  await workflows.end(id, { returnCode: 0, summary: 'all is well' });
  await said(page, 'all is well').first().waitFor();
  await said(page, 'waits for the next step').waitFor({ state: 'detached' });
  await said(page, 'a plan').click();
  await page.getByRole('button', { name: 'Fork from here' }).click();
  await page.waitForURL((address) => !address.pathname.endsWith(id));
  await said(page, 'a plan').waitFor();
  await said(page, 'waits for the next step').waitFor();
  expect(await said(page, 'the second step').count()).toBe(0);
  expect(seen.problems).toEqual([]);
});

interface Served {
  readonly child: ChildProcess;
  readonly http: string;
  readonly tcp: string;
}

/** `quipu serve` in a process of its own. */
async function serve(folder: string, port: string): Promise<Served> {
  const argv = ['serve', '--json', '--store', folder, '--port', port, '--tcp-port', '0'];
  const child = spawn(process.execPath, [projectPath('dist/cli/main.js'), ...argv]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as Pick<Served, 'http' | 'tcp'>) };
}

it('goes on without a gap or a repeat when the server is killed', async () => {
  const folder = join(freshFolder(), 'store');
  const first = await serve(folder, '0');
  const before = await openStore(first.tcp);
  onTestFinished(() => before.close());
  const { id } = await before.contexts.create({ title: 'survivor' });
  await before.contexts.append(id, note('before'));
  const seen = await look(`${first.http}/c/${id}`);
  const { page } = seen;
  await said(page, 'before').waitFor();
  await page.locator('.link.live').waitFor();

  // Killed between two appends: what was acknowledged, and what may have become durable, is there afterwards.
  let n = 0;
  const writing = (async () => {
    for (; n < 100_000; n += 1) await before.contexts.append(id, note(`word ${n}`));
  })().catch(() => undefined);
  // Any later one will do: only the newest turns are drawn, and each may be gone before somebody looks.
  await said(page, /^word (?:[2-9]\d|\d{3,})$/)
    .first()
    .waitFor();
  first.child.kill('SIGKILL');
  await page.locator('.link.lost').waitFor();
  await before.close();
  await writing;

  const second = await serve(folder, new URL(first.http).port);
  await using after = await openStore(second.tcp);
  for (let more = 0; more < 5; more += 1) await after.contexts.append(id, note(`after ${more}`));
  await page.locator('.link.live').waitFor();
  await said(page, 'after 4').waitFor();
  const { turns } = await after.contexts.last(id, 10_000);
  // Only what can be seen is drawn, so the ids of the newest turns are compared.
  const drawn = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.turn[id]')].map((turn) => turn.id.replace('turn-', ''))`,
  );
  expect(drawn.length).toBeGreaterThan(5);
  expect(drawn).toEqual(turns.slice(-drawn.length).map((turn) => String(turn.id)));
  expect(seen.problems).toEqual([]);
});

it(
  'scrolls through 100,000 turns with a bounded page, and shows every view of them',
  { timeout: 180_000 },
  async () => {
    const { url, store } = await serveWithSearch();
    const { id } = await store.contexts.create({ title: 'long' });
    for (let page = 0; page < 50; page += 1) {
      const turns = Array.from({ length: 2000 }, (_, n) => note(`turn number ${page * 2000 + n}`));
      await store.contexts.appendBatch(id, turns);
    }
    const seen = await look(`${url}/c/${id}`);
    const { page } = seen;
    await said(page, 'turn number 99999').waitFor();
    const firstId = (): Promise<number> =>
      page.evaluate<number>(
        `Math.min(...[...document.querySelectorAll('.turn[id]')].map(({ id }) => Number(id.slice(5))))`,
      );
    for (let step = 0, top = await firstId(); step < 15; step += 1) {
      // What is shown stays in its place when older turns come, so one goes up again.
      const scrollUp = async (): Promise<number> => {
        await page.evaluate(`document.querySelector('.turns').scrollTop = 0`);
        return firstId();
      };
      await expect.poll(scrollUp, { timeout: 15_000 }).toBeLessThan(top);
      top = await firstId();
      expect(await page.locator('.turn').count()).toBeLessThan(150);
    }
    // Older than the window holds: turns at its newer end were let go.
    expect(await firstId()).toBeLessThan(100_000 - 600);
    await page.goto(`${url}/c/${id}/t/50001`);
    await said(page, 'turn number 50000').waitFor();
    await page.locator('.turn.on').waitFor();
    const views: readonly (readonly [string, string | RegExp])[] = [
      ['/', /Everything that was said/],
      [`/c/${id}/branches`, /1 branch, 100,000 turns/],
      ['/compare/50001..99999', /Common ancestor: turn 50,?001/],
      ['/search?q=%22number+77777%22', /77777/],
      ['/store', /On disk/],
    ];
    for (const [path, text] of views) {
      await page.goto(url + path);
      await page.locator('#content').getByText(text).first().waitFor();
    }
    expect(seen.problems).toEqual([]);
  },
);

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
  await said(seen.page, 'through the proxy').waitFor();
  await seen.page.locator('.link.live').waitFor();
  await seen.page.getByRole('link', { name: 'Store' }).click();
  await said(seen.page, 'Health').waitFor();
  expect(new URL(seen.page.url()).pathname).toBe('/deep/prefix/store');
  await seen.page.reload();
  await said(seen.page, 'Health').waitFor();
  expect(seen.problems).toEqual([]);
});
