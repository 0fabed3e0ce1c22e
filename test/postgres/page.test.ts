import { afterAll, expect, it, onTestFinished } from 'vitest';
import { openAccess } from '../../src/server/access/access.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { fillDemo } from '../../src/server/demo.ts';
import { createHttpServer } from '../../src/server/http/create-http-server.ts';
import { openServed } from '../../src/server/open-served.ts';
import { look, note, said } from '../browser/browser-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

afterAll(closeBrowser);

it('shows a store in a database, live', async () => {
  const served = await openServed(await freshDatabase());
  onTestFinished(() => served.store.close());
  const server = createHttpServer({ served, calls: createCalls(served), access: openAccess });
  const { url } = await server.listen(0, '127.0.0.1');
  onTestFinished(() => server.close(0));
  await fillDemo(served.store);
  const seen = await look(`${url}/c/1`);
  const { page } = seen;
  await said(page, /All tests pass/).waitFor();
  await page.locator('.link.live').waitFor();
  const { id: turn } = await served.store.contexts.append('1', note('appended meanwhile'));
  await said(page, 'appended meanwhile').waitFor();
  await page.goto(`${url}/c/1/branches`);
  await said(page, /^3 branches/).waitFor();
  const fork = await served.store.contexts.fork(turn, { title: 'a fourth way' });
  await served.store.contexts.append(fork.id, note('and on'));
  await said(page, /^4 branches/).waitFor();
  await page.locator('.tag').getByText('a fourth way').waitFor();
  await page.goto(`${url}/q/inbox`);
  await said(page, 'hello, warden').first().waitFor();
  await page.goto(`${url}/store`);
  await page.getByText('by the database: pg_dump').waitFor();
  await page.locator('.legend').getByText('turns', { exact: true }).waitFor();
  expect(seen.problems).toEqual([]);
});
