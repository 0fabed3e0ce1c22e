import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openBrowser } from '../support/chromium.ts';

// Every test has a browser context of its own.

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
