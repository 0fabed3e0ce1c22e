import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { SUPERVISOR } from '../queue/rig.ts';
import { serveHttp } from '../service/http-rig.ts';
import { closeBrowser } from '../support/chromium.ts';
import { look } from './browser-rig.ts';

afterAll(closeBrowser);

it('shows a handler that runs, and one that waits for a retry', async () => {
  const { url, folder, store } = await serveHttp();
  await store.queues.open('inbox');
  const inbox = queueFolder(join(folder, 'queues', 'inbox'));
  const queue = new SqliteQueue(inbox, { supervisor: SUPERVISOR });
  const at = (name: string): string => join(folder, name);
  // The first run waits until it was seen, and every run fails. A run ends with its folder.
  const isAwaited = `[ ! -e '${at('seen')}' ] && [ -d '${folder}' ]`;
  const handler = `touch '${at('begun')}'; while ${isAwaited}; do sleep 0.05; done; exit 1`;
  onTestFinished(async () => {
    await queue.unsubscribe('warden');
    await queue.close();
  });
  await queue.subscribe({ consumer: 'warden', handler });
  await queue.push({ source: 'planner', type: 'message', content: 'hello' });
  const { page, problems } = await look(`${url}/q/inbox`);
  const consumer = page.locator('.consumer', { hasText: 'warden' });
  await expect.poll(() => existsSync(at('begun'))).toBe(true);
  await consumer.getByText('running', { exact: true }).waitFor();
  writeFileSync(at('seen'), '');
  await consumer.getByText(/^waits for a retry after \d+ failures?$/).waitFor();
  await consumer.getByText('1 behind').waitFor();
  expect(problems).toEqual([]);
});
