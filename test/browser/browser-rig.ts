import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { openServed } from '../../src/server/open-served.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';
import { serveHttp } from '../service/http-rig.ts';
import type { HttpRig } from '../service/http-rig.ts';
import { openBrowser } from '../support/chromium.ts';

// Every test has a browser context of its own.

/** Only against what never comes: a busy machine draws a page in seconds. A test ends after 60 s. */
const PATIENCE_MS = 50_000;

export interface Looked {
  readonly page: Page;
  /** Errors of scripts and of the content security policy, and requests that left the server. */
  readonly problems: string[];
}

/** Opens an address. A test looks at `problems` in the end. */
export async function look(url: string, options: BrowserContextOptions = {}): Promise<Looked> {
  const context = await (
    await openBrowser()
  ).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !text.includes('Failed to load resource'))
      problems.push(text);
  });
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(origin) && !/^(?:blob|data):/.test(address)) {
      problems.push(`left the server: ${address}`);
    }
  });
  await page.goto(url);
  return { page, problems };
}

/** A text in the view itself: the list beside it shows the last words of threads, too. */
export function said(page: Page, text: string | RegExp): Locator {
  return page.locator('#content').getByText(text, { exact: true });
}

/** Everything that was asked for is drawn, and what would run after it has run. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
  );
}

export const note = (text: string): { type: string; payload: object } => ({
  type: 'chat.message',
  payload: { role: 'user', text },
});

/** A store as `quipu serve` opens it, with search. */
export async function serveWithSearch(): Promise<HttpRig> {
  const served = await openServed(freshFolder());
  onTestFinished(() => served.store.close());
  return { ...(await serveHttp({ served, calls: createCalls(served) })), store: served.store };
}
