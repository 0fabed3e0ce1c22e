// Makes the pictures of the page that the documents show, from the sample store. Run `npm run build` first, then
// `npm run docs:pictures`. The sample is the same each time, so a picture changes only when the page does.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';
import { startServer } from '../dist/server/start-server.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const pictures = join(root, 'docs/pictures');
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const VIEWS = [
  ['home', '/'],
  ['thread', '/c/1/t/7'],
  ['branches', '/c/1/branches'],
];

const folder = mkdtempSync(join(tmpdir(), 'quipu-pictures-'));
const server = await startServer({
  store: join(folder, 'agents'),
  host: '127.0.0.1',
  httpPort: 0,
  tcpPort: 0,
  tokenFile: join(folder, 'tokens.json'),
  allowAnonymous: false,
  allowHandlers: false,
  origins: [],
  demo: true,
  version: '0.1.0',
  limits: {},
  log,
});
const browser = await playwright.launch({
  executablePath: await chromium.executablePath(),
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
});
try {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 760 }, colorScheme });
    for (const [name, path] of VIEWS) {
      await page.goto(server.http + path);
      await page.locator('.item').first().waitFor();
      await page.waitForTimeout(800);
      const bytes = await page.screenshot({ animations: 'disabled' });
      writeFileSync(join(pictures, `${name}-${colorScheme}.png`), bytes);
    }
    await page.close();
  }
} finally {
  await browser.close();
  await server.close(0);
  rmSync(folder, { recursive: true, force: true });
}
