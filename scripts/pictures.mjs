// Makes the pictures of the page that the documents show, from the sample store. Run `npm run build` first, then
// `npm run docs:pictures`. The sample is the same each time, so a picture changes only when the page does.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import { encode } from 'modern-gif';
import { chromium as playwright } from 'playwright-core';
import { openStore } from '../dist/index.js';
import { startServer } from '../dist/server/start-server.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const pictures = join(root, 'docs/pictures');
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Name, address, and a text that is there when the view is complete. */
const VIEWS = [
  ['home', '/', 'thousands, hundreds'],
  ['thread', '/c/1/t/7', 'Also on'],
  ['branches', '/c/1/branches', 'Files they changed'],
  ['store', '/store', 'appends a second'],
];

/** What is said on a new branch while the moving picture is made. */
const FORK = 'ask for a property test';
const SAID = [
  'Write a property: tokens never overlap, and together they are the text.',
  'It fails on the empty text after 1 run, and on nothing else in 1,000.',
  'With the other comparison it holds for 10,000 texts.',
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
    for (const [name, path, text] of VIEWS) {
      await page.goto(server.http + path);
      await page.locator('.item').first().waitFor();
      await page.locator('#content').getByText(text).first().waitFor();
      await page.waitForTimeout(500);
      const bytes = await page.screenshot({ animations: 'disabled' });
      writeFileSync(join(pictures, `${name}-${colorScheme}.png`), bytes);
    }
    await page.close();
  }
  writeFileSync(join(pictures, 'fork.gif'), await forkAppearing());
} finally {
  await browser.close();
  await server.close(0);
  rmSync(folder, { recursive: true, force: true });
}

/** The graph of branches while somebody else forks and goes on: an animated picture. */
async function forkAppearing() {
  const size = { width: 960, height: 480 };
  const page = await browser.newPage({ viewport: size, colorScheme: 'light' });
  const store = await openStore(server.tcp);
  const frames = [];
  const take = async (delay) => {
    await page.waitForTimeout(200);
    const png = await page.screenshot({ animations: 'disabled' });
    frames.push({ data: await toPixels(page, png), delay });
  };
  await page.goto(`${server.http}/c/1/branches`);
  await page.locator('.row').getByText('A while loop is clearer').waitFor();
  await take(1400);
  const { id } = await store.contexts.fork(7n, { title: FORK, kind: 'agent' });
  await page.locator('.tag').getByText(FORK).waitFor();
  await take(1200);
  for (const text of SAID) {
    const payload = { role: 'assistant', text };
    await store.contexts.append(id, { type: 'chat.message', payload });
    await page.locator('.row').first().getByText(text.slice(0, 20)).waitFor();
    await take(1000);
  }
  frames.at(-1).delay = 2600;
  await store.close();
  await page.close();
  const gif = await encode({ ...size, frames, maxColors: 64 });
  return new Uint8Array(gif);
}

/** The browser decodes its own pictures. */
async function toPixels(page, png) {
  const base64 = await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const pen = canvas.getContext('2d');
    pen.drawImage(bitmap, 0, 0);
    const { data } = pen.getImageData(0, 0, bitmap.width, bitmap.height);
    let binary = '';
    for (let at = 0; at < data.length; at += 32_768) {
      binary += String.fromCharCode(...data.subarray(at, at + 32_768));
    }
    return btoa(binary);
  }, png.toString('base64'));
  return new Uint8ClampedArray(Buffer.from(base64, 'base64'));
}
