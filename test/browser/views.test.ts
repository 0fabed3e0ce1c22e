import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { fillDemo } from '../../src/server/demo.ts';
import { openServed } from '../../src/server/open-served.ts';
import { makeFolder, serveHttp } from '../service/http-rig.ts';
import type { HttpRig } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { look } from './browser-rig.ts';

afterAll(closeBrowser);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
}

async function serveDemo(): Promise<HttpRig & { views: readonly (readonly [string, RegExp])[] }> {
  // As `quipu serve` opens it, with search.
  const served = await openServed(await makeFolder());
  onTestFinished(() => served.store.close());
  const rig = { ...(await serveHttp({ served, calls: createCalls(served) })), store: served.store };
  await fillDemo(rig.store);
  const [chat] = (await rig.store.chats.list()).items;
  const [workflow] = (await rig.store.workflows.list({ state: 'all' })).items;
  return {
    ...rig,
    views: [
      ['/', /Everything that was said/],
      ['/c/1', /All tests pass/],
      ['/c/1/t/2', /lexer\/07 fails since yesterday/],
      ['/c/1/branches', /3 branches/],
      ['/compare/20..25', /Common ancestor: turn 7/],
      [`/chat/${chat?.id}`, /Waiting for your answer/],
      [`/w/${workflow?.id}`, /reviewer/i],
      ['/q/inbox', /hello/],
      ['/search?q=parser', /on empty input/],
      ['/store', /Everything|Health/],
    ],
  };
}

describe('every view', () => {
  it('shows what is there, in light and dark, without a violation', async () => {
    const { url, views } = await serveDemo();
    for (const colorScheme of ['light', 'dark'] as const) {
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
    }
  });

  it('fits on a narrow screen', async () => {
    const { url, views } = await serveDemo();
    const seen = await look(url, { viewport: { width: 360, height: 740 } });
    for (const [path] of views) {
      await seen.page.goto(url + path);
      await seen.page.locator('.top').waitFor();
      await seen.page.waitForTimeout(200);
      const width = await seen.page.evaluate('document.documentElement.scrollWidth');
      expect(width, path).toBeLessThanOrEqual(360);
    }
    expect(seen.problems).toEqual([]);
  });

  it('has an address of its own, and back leads back', async () => {
    const { url } = await serveDemo();
    const seen = await look(`${url}/c/1`);
    const { page } = seen;
    await page.getByRole('link', { name: 'Three days in Cusco' }).click();
    await page.getByText('Plan three easy days').waitFor();
    expect(new URL(page.url()).pathname).toBe('/c/5');
    await page.goBack();
    await page.getByText('All tests pass').waitFor();
    await page.goForward();
    await page.getByText('Plan three easy days').waitFor();
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
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.waitForURL(/\/store$/);
    expect(seen.problems).toEqual([]);
  });
});
