import { expect, it } from 'vitest';
import { openStore } from '../../../src/open-store.ts';
import { failure } from '../../../src/testing/engine-suite/fixture.ts';
import { message } from '../../../src/testing/queue-suite/fixture.ts';
import { CliRig } from '../../cli/rig.ts';
import { projectPath } from '../../support/project.ts';
import { freshSchema, openRig } from './rig.ts';

it('is the place of the queues of a store in PostgreSQL', async () => {
  const url = await freshSchema();
  const store = await openStore(url);
  const inbox = await store.queues.open('inbox');
  expect(await inbox.push(message('1'))).toBe(1);
  expect((await inbox.info()).thread).toMatch(
    /^postgres:\/\/127\.0\.0\.1:\d+\/test_\w+\?schema=test_\d+#inbox$/,
  );
  expect(await store.maintain.verify()).toMatchObject({ ok: true });
  const following = (async () => {
    for await (const event of inbox.follow({ lastEventId: 1 })) throw new Error(event.content);
  })();
  await store.close();
  await following;
  await failure(inbox.push(message('2')), 'CLOSED');
  await failure(store.queues.list(), 'CLOSED');
});

it('has handlers that pop from a shell, under a worker of the command line', async () => {
  const rig = await openRig();
  const { notes, url } = rig;
  using cli = new CliRig();
  const on = (...argv: string[]): ReturnType<CliRig['run']> =>
    cli.run('queue', ...argv, '--store', url);
  const quipu = `"${process.execPath}" "${projectPath('dist/cli/main.js')}"`;
  const handler = `last=0; while events=$(${quipu} queue pop "$QUIPU_QUEUE" "$QUIPU_CONSUMER" --after $last) && [ -n "$events" ]; do echo "$events" >> ${notes}/handled; last=$(echo "$events" | tail -n 1 | sed 's/^{"id":\\([0-9]*\\),.*/\\1/'); done`;
  const pushed = ['push', 'inbox', '--source', 'self', '--type', 'message', '--content', 'hello'];
  expect(await on(...pushed)).toEqual({ code: 0, out: '1\n', err: '' });
  expect((await on('subscribe', 'inbox', 'w', '--handler', handler)).code).toBe(0);
  const worked = await on('work', 'inbox', '--consumer', 'w', '--once');
  expect(worked).toMatchObject({ code: 0, err: '' });
  expect(worked.out).toMatch(/^inbox w started: last=0;.*\ninbox w ended: exit 0\n$/);
  expect(rig.noted('handled')).toHaveLength(1);
  expect((await on('info', 'inbox')).out).toMatch(/w +idle +1 +0/);
  expect(await on('work', 'none', '--once')).toMatchObject({ code: 1 });
});
