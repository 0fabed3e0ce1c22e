import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { importHistory } from '../../src/import/import-history.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { fillDemo } from '../../src/server/demo.ts';
import { serveHttp } from '../service/http-rig.ts';
import type { HttpRig } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { scratchFolder } from '../support/scratch-folder.ts';
import { drawn, look, said, serveWithSearch } from './browser-rig.ts';

afterAll(closeBrowser);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
}

async function serveDemo(): Promise<HttpRig & { views: readonly (readonly [string, RegExp])[] }> {
  const rig = await serveWithSearch();
  await fillDemo(rig.store);
  const [chat] = (await rig.store.chats.list()).items;
  const [workflow] = (await rig.store.workflows.list({ state: 'all' })).items;
  const [session] = (await rig.store.sessions.list()).items;
  return {
    ...rig,
    views: [
      ['/', /Everything that was said/],
      ['/c/1', /All tests pass/],
      ['/c/1/t/2', /lexer\/07 fails since yesterday/],
      ['/c/1/branches', /3 branches/],
      ['/compare/20..25', /Common ancestor: turn 7, 7 turns shared/],
      [`/chat/${chat?.id}`, /Waiting for your answer/],
      [`/w/${workflow?.id}`, /reviewer/i],
      [`/s/${session?.id}`, /I run the tests first/],
      ['/q/inbox', /hello/],
      ['/search?q=parser', /on empty input/],
      ['/store', /On disk/],
    ],
  };
}

describe('every view', () => {
  it.each(['light', 'dark'] as const)(
    'shows what is there in %s, without a violation',
    { timeout: 180_000 },
    async (colorScheme) => {
      const { url, views } = await serveDemo();
      const seen = await look(url, { colorScheme });
      for (const [path, text] of views) {
        await seen.page.goto(url + path);
        await seen.page.locator('#content').getByText(text).first().waitFor();
        await seen.page.evaluate(AXE);
        const violations = await seen.page.evaluate(async () => {
          const { axe } = globalThis as unknown as {
            axe: { run(): Promise<{ violations: Violation[] }> };
          };
          return (await axe.run()).violations.map(({ id, nodes }) => ({
            id,
            nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })),
          }));
        });
        expect(violations, `${path} ${colorScheme}`).toEqual([]);
      }
      expect(seen.problems).toEqual([]);
    },
  );

  it('fits on a narrow screen', async () => {
    const { url, views } = await serveDemo();
    const seen = await look(url, { viewport: { width: 360, height: 740 } });
    for (const [path, text] of views) {
      await seen.page.goto(url + path);
      // At home the list comes first, and the button shows the rest.
      if (path === '/') await seen.page.getByRole('button', { name: 'Show the list' }).click();
      await seen.page.locator('#content').getByText(text).first().waitFor();
      await drawn(seen.page);
      const width = await seen.page.evaluate('document.documentElement.scrollWidth');
      expect(width, path).toBeLessThanOrEqual(360);
    }
    await seen.page.goto(`${url}/c/1/t/2`);
    await seen.page.getByRole('button', { name: 'Show the details' }).click();
    await seen.page.getByRole('button', { name: 'Fork from here' }).waitFor();
    await seen.page.getByRole('button', { name: 'Show the details' }).click();
    await seen.page.getByRole('button', { name: 'Fork from here' }).waitFor({ state: 'hidden' });
    expect(seen.problems).toEqual([]);
  });

  it('has an address of its own, and back leads back', async () => {
    const { url } = await serveDemo();
    const seen = await look(`${url}/c/1`);
    const { page } = seen;
    await page.getByRole('link', { name: 'Three days in Cusco' }).click();
    await said(page, /Plan three easy days/).waitFor();
    expect(new URL(page.url()).pathname).toBe('/c/5');
    // The tab has the title of the thread.
    await page.waitForFunction("document.title === 'Three days in Cusco · Quipu'");
    await page.goBack();
    await said(page, /All tests pass/).waitFor();
    await page.goForward();
    await said(page, /Plan three easy days/).waitFor();
    expect(seen.problems).toEqual([]);
  });
});

describe('a thread', () => {
  it('shows an imported history as messages, and a long output on request', async () => {
    const { url, store } = await serveHttp();
    const folder = mkdtempSync(join(scratchFolder(), 'quipu-import-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'cat build.log' } };
    const output = 'a line of the log\n'.repeat(5000);
    const result = { type: 'tool_result', tool_use_id: 't1', content: output };
    const at = { timestamp: '2024-01-02T12:00:00Z' };
    const records = [
      { ...at, type: 'user', uuid: 'u', message: { role: 'user', content: 'read **it**' } },
      { ...at, type: 'assistant', uuid: 'a', parentUuid: 'u', message: { content: [call] } },
      { ...at, type: 'user', uuid: 'r', parentUuid: 'a', message: { content: [result] } },
    ];
    writeFileSync(join(folder, 's1.jsonl'), records.map((one) => JSON.stringify(one)).join('\n'));
    await importHistory(store, claudeCode, { place: join(folder, 's1.jsonl') });
    const seen = await look(`${url}/c/2`);
    const { page } = seen;
    await page.locator('#turn-1 strong').getByText('it', { exact: true }).waitFor();
    await page.locator('#turn-1 time[title*="2024"]').waitFor();
    await page.locator('summary', { hasText: 'cat build.log' }).click();
    await page.locator('summary', { hasText: 'Long text' }).click();
    await page.locator('.fold .fold').getByText('a line of the log').waitFor();
    expect(seen.problems).toEqual([]);
  });

  it('shows a call with its result, an edit as a diff, and equal outputs as the same bytes', async () => {
    const { url } = await serveDemo();
    const seen = await look(`${url}/c/1`);
    const { page } = seen;
    await page.locator('.diff .added').getByText('while (at < text.length)').waitFor();
    expect(await page.locator('.fold', { hasText: 'Result' }).count()).toBe(0);
    const run = page.locator('#turn-8 .fold');
    await run.getByText('85 lines').waitFor();
    await run.locator('summary').click();
    await run.getByText('FAIL').waitFor();
    await run.getByText('the same bytes as in turn 4').waitFor();
    expect(await run.getByText('recovery/14').count()).toBe(0);
    await run.getByRole('button', { name: 'Show all 85 lines' }).click();
    await run.getByText('recovery/14').waitFor();
    expect(seen.problems).toEqual([]);
  });

  it('unfolds the runs of its branches, and compares what was picked', async () => {
    const { url } = await serveDemo();
    const seen = await look(`${url}/c/1/branches`);
    const { page } = seen;
    // The two heads are compared until somebody picks others.
    await page.getByText('Common ancestor: turn 7, 7 turns shared.').waitFor();
    await page.getByText('Files they changed').waitFor();
    const before = await page.locator('.row').count();
    await page.getByRole('button', { name: '5 turns' }).click();
    await expect.poll(() => page.locator('.row').count()).toBe(before + 4);
    await page.locator('.row').getByText('lexer/07 fails since yesterday').waitFor();
    await page.getByRole('button', { name: 'Fold runs' }).click();
    await expect.poll(() => page.locator('.row').count()).toBe(before);
    await page.getByLabel('Compare turn 20').check();
    await page.getByLabel('Compare turn 1', { exact: true }).check();
    await page.getByText('Common ancestor: turn 1, 1 turn shared.').waitFor();
    expect(seen.problems).toEqual([]);
  });
});

describe('the store', () => {
  it('says what takes room, how it is, and when it was backed up', async () => {
    const { url, store, folder } = await serveDemo();
    const seen = await look(`${url}/store`);
    const { page } = seen;
    await said(page, 'journal').first().waitFor();
    await page.getByText('never:').waitFor();
    await page.getByText('appends a second').waitFor();
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('Everything can be read.').waitFor();
    await store.maintain.backup(`${folder}-copy`);
    onTestFinished(() => rm(`${folder}-copy`, { recursive: true, force: true }));
    await page.reload();
    await page.locator('dt', { hasText: 'last backup' }).waitFor();
    expect(await page.getByText('never:').count()).toBe(0);
    expect(seen.problems).toEqual([]);
  });
});

describe('keys', () => {
  it('are taken in the moment the list appears', async () => {
    const { url } = await serveDemo();
    const seen = await look(`${url}/store`);
    const { page } = seen;
    // Before any effect runs: an observer is called right after the change to the document.
    await page.addInitScript(`
      new MutationObserver((_, observer) => {
        if (document.querySelector('.item') === null) return;
        observer.disconnect();
        const press = (key) => dispatchEvent(new KeyboardEvent('keydown', { key }));
        press('j');
        setTimeout(() => press('Enter'));
      }).observe(document, { childList: true, subtree: true });
    `);
    await page.goto(url);
    await page.waitForURL((address) => address.pathname !== '/');
    expect(seen.problems).toEqual([]);
  });

  it('lead everywhere', async () => {
    const { url } = await serveDemo();
    const seen = await look(url);
    const { page } = seen;
    await page.locator('.item').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL((address) => address.pathname !== '/');
    await page.goto(`${url}/c/1`);
    await page.locator('.turn').first().waitFor();
    await page.keyboard.press('k');
    await page.locator('.turn.on').waitFor();
    await page.keyboard.press('b');
    await page.waitForURL(/branches$/);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    await page.keyboard.type('lexer');
    await page.locator('.hit').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.turn.on').waitFor();
    // The second key counts for a second and a half, which a busy machine may miss.
    const goToStore = async (): Promise<string> => {
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      return new URL(page.url()).pathname;
    };
    await expect.poll(goToStore).toBe('/store');
    expect(seen.problems).toEqual([]);
  });
});
