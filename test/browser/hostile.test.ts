import { afterAll, expect, it } from 'vitest';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { drawn, look, said } from './browser-rig.ts';

afterAll(closeBrowser);

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"><script>window.hacked=1</script></svg>';

/** Payloads that want to run, load, hide or break something. */
const HOSTILE: readonly unknown[] = [
  '<script>window.hacked=1</script>',
  '<img src=x onerror="window.hacked=1">',
  '[link](javascript:window.hacked=1) [data](data:text/html,<script>window.hacked=1</script>)',
  '![track](https://example.com/track.png)',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><form action="https://example.com"><button>x</button></form>',
  '<style>body{display:none}</style><base href="https://example.com/">',
  '<a href="https://example.com" onclick="window.hacked=1" style="position:fixed;inset:0">x</a>',
  `${'a'.repeat(1000)}\u202egnirts desrever\u202c`,
  '```html\n<script>window.hacked=1</script>\n```',
  '[x]: javascript:alert(1)\n[x]',
  '\ud800 broken',
  { role: '<b>user</b>', text: '<script>window.hacked=1</script>' },
  {
    role: 'assistant',
    name: '<img src=x onerror=window.hacked=1>',
    content: [{ type: 'text', text: '<svg onload=window.hacked=1>' }],
  },
  {
    role: 'user',
    content: [
      {
        type: 'image',
        source: { media_type: 'image/svg+xml', data: Buffer.from(SVG).toString('base64') },
      },
    ],
  },
  {
    role: 'user',
    content: [
      {
        type: 'image',
        source: {
          media_type: 'text/html',
          data: Buffer.from('<script>window.hacked=1</script>').toString('base64'),
        },
      },
    ],
  },
  {
    role: 'assistant',
    content: [
      {
        type: 'tool_use',
        id: 'x',
        name: '__proto__',
        input: {
          file_path: '"><script>window.hacked=1</script>',
          old_string: '<b>',
          new_string: '</b><script>',
        },
      },
    ],
  },
  {
    ['__proto__']: 1,
    constructor: { name: '<script>' },
    deep: Array.from({ length: 40 }).reduce<unknown>((inner) => [inner], 'x'),
  },
];

it('runs nothing, loads nothing, and shows everything', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({
    title: '<script>window.hacked=1</script>\u202e',
    labels: ['<img src=x onerror=window.hacked=1>'],
    meta: { '<script>': '<script>' },
  });
  for (const payload of HOSTILE) {
    const turn = { type: 'x<script>', payload };
    // Half of a pair of UTF-16 is refused by the store.
    await store.contexts.append(id, turn).catch(() => undefined);
  }
  const broken = Buffer.from([0x6f, 0x6b, 0xff, 0xfe, 0x80, 0xc0, 0xaf]);
  await expect(
    store.contexts.append(id, { type: 'broken', payload: broken, encoding: 'text' }),
  ).rejects.toMatchObject({ code: 'INVALID' });
  await store.contexts.append(id, { type: 'broken', payload: broken, encoding: 'bytes' });
  const last = String((await store.contexts.last(id, 1)).turns[0]?.id);
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await page.locator('.turn').first().waitFor();
  for (const [path, shown] of [
    [`/c/${id}/t/1`, 'window.hacked=1'],
    [`/c/${id}/t/9`, 'gnirts desrever'],
    [`/c/${id}/t/${last}`, `turn ${last}`],
    [`/c/${id}/branches`, '1 branch'],
    ['/', 'Everything that was said'],
    ['/store', 'Health'],
  ] as const) {
    await page.goto(url + path);
    await said(page, new RegExp(shown)).first().waitFor();
    await drawn(page);
    expect(await page.evaluate(`'hacked' in window`), path).toBe(false);
    expect(await page.locator('#content script, #content iframe, #content form').count()).toBe(0);
  }
  const addresses = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.markdown a')].map((link) => link.href)`,
  );
  for (const address of addresses) expect(address).toMatch(/^(?:https?|mailto):/);
  expect(seen.problems).toEqual([]);
});

it('stays responsive with a line of 10 MB', async () => {
  const { url, store } = await serveHttp();
  const { id } = await store.contexts.create({ title: 'large' });
  await store.contexts.append(id, {
    type: 'chat.message',
    payload: { role: 'user', text: 'x'.repeat(10_000_000) },
  });
  await store.contexts.append(id, {
    type: 'chat.message',
    payload: { role: 'user', text: 'after it' },
  });
  const seen = await look(`${url}/c/${id}`);
  const { page } = seen;
  await said(page, 'after it').waitFor();
  await page.getByRole('button', { name: /Load the payload, 10 MB/ }).click();
  await page.getByText(/characters more/).waitFor();
  expect(await page.evaluate('document.body.innerText.length')).toBeLessThan(100_000);
  expect(seen.problems).toEqual([]);
});

it('catches a careless page', async () => {
  // The broken twin: the same payload, put into a page as it is, does run.
  const { page } = await look('data:text/html,<p>a page without a policy</p>');
  await page.setContent('<main id="content"></main>');
  await page.evaluate(
    `document.querySelector('#content').innerHTML = ${JSON.stringify(HOSTILE[1])}`,
  );
  await expect.poll(() => page.evaluate(`'hacked' in window`)).toBe(true);
});
