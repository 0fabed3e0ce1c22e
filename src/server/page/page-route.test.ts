import { expect, it } from 'vitest';
import { answerPage } from './page-route.ts';
import type { PageFiles } from './page-route.ts';

const PAGE: PageFiles = {
  document: '<html><head></head></html>',
  files: new Map([['assets/a-1.js', { type: 'text/javascript', body: 'run()' }]]),
};
const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';

it.each([
  ['/', HTML, true],
  ['/any/where', HTML, true],
  ['/', '*/*', true],
  ['/', undefined, true],
  ['/c/1/t/2', '*/*', true],
  ['/search', '*/*', true],
  ['/store', '*/*', true],
  ['/c', '*/*', false],
  ['/contexts', '*/*', false],
  ['/any/where', '*/*', false],
  ['/', 'application/json', false],
  ['/assets/b-2.js', HTML, false],
])('for %s and a client that takes %s: %s', (path, accept, isPage) => {
  const reply = answerPage(PAGE, path, accept);
  expect(reply?.type?.startsWith('text/html') ?? false).toBe(isPage);
});

it('gives a file to anybody, and leads back to its root from any depth', () => {
  expect(answerPage(PAGE, '/assets/a-1.js', 'application/json')).toMatchObject({ body: 'run()' });
  expect(answerPage(PAGE, '/', HTML)?.body).toContain('<base href="./">');
  expect(answerPage(PAGE, '/c/1/t/2', HTML)?.body).toContain('<base href="../../../">');
  expect(answerPage(undefined, '/', HTML)).toBeUndefined();
});
