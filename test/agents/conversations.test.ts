import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { Conversations } from '../../src/agents.ts';
import { connectStore } from '../../src/connect-store.ts';
import { openStore } from '../../src/open-store.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';
import { SHAPE, all, asks, conversationSuite, says } from '../support/conversation-suite.ts';
import { projectPath } from '../support/project.ts';
import { RestartableServer } from '../support/restartable-server.ts';

let server: RestartableServer | undefined;
afterAll(() => server?.dispose());

conversationSuite('a folder', () => openStore(freshFolder('quipu-test-', afterAll)));
conversationSuite('a client of a server', async () => {
  server = await RestartableServer.start();
  return connectStore(`quipu://127.0.0.1:${server.port}`);
});

/** Another process that answers `count` with numbers. It prints each that is durable, and how the answer ended. */
function counter(folder: string): { child: ChildProcess; lines: AsyncIterator<string> } {
  const program = `
    import { openStore } from ${JSON.stringify(projectPath('dist/index.js'))};
    import { Conversations } from ${JSON.stringify(projectPath('dist/agents.js'))};
    const store = await openStore(process.argv[1]);
    const talks = new Conversations(store, { fold: () => undefined, cutOff: (cut) => ({ cut }) });
    await talks.save('count', [${JSON.stringify(asks('u1', 'count'))}]);
    const { chunks } = await talks.answer('count', async function* () {
      yield { id: 'a1' };
      for (let n = 0; n < 10; n += 1) yield { text: n + ' ' };
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });
    for await (const chunk of chunks) console.log(JSON.stringify(chunk));
    await store.close();
    process.exit();`;
  const argv = ['--input-type=module', '-e', program, folder];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

const NUMBERS = Array.from({ length: 10 }, (_, n) => ({ text: `${n} ` }));
const COUNTED = [asks('u1', 'count'), says('a1', NUMBERS.map(({ text }) => text).join(''))];

it('the answer of a process that was killed is read, resumed and answered again', async () => {
  const folder = freshFolder();
  const { child, lines } = counter(folder);
  const ended = new Promise((resolve) => child.on('close', resolve));
  for (let line = ''; line !== '{"text":"9 "}'; line = (await lines.next()).value as string);
  child.kill('SIGKILL');
  await ended;

  const store = await openStore(folder);
  onTestFinished(() => store.close());
  const talks = new Conversations(store, SHAPE);
  expect(await talks.load('count')).toEqual(COUNTED);
  const pieces = [{ id: 'a1' }, ...NUMBERS, { cut: 'interrupted' }];
  expect(await all((await talks.resume('count'))!)).toEqual(pieces);
  expect(await talks.rewind('count', 'a1')).toEqual(COUNTED.slice(0, 1));
  const again = await talks.answer('count', async function* () {
    yield { id: 'a2' };
    yield { text: '0 to 9' };
  });
  await again.saved;
  expect(await talks.load('count')).toEqual([asks('u1', 'count'), says('a2', '0 to 9')]);
  expect((await talks.branches('count')).map(({ messages }) => messages)).toEqual([COUNTED]);
});

it('the answer of another process is followed live, and stopped', async () => {
  const folder = freshFolder();
  const store = await openStore(folder);
  onTestFinished(() => store.close());
  const { lines } = counter(folder);
  await lines.next();
  const talks = new Conversations(store, SHAPE);
  const seen: unknown[] = [];
  for await (const piece of (await talks.resume('count'))!) {
    seen.push(piece);
    if (seen.length === 11) await talks.stop('count');
  }
  expect(seen).toEqual([{ id: 'a1' }, ...NUMBERS, { cut: 'stopped' }]);
  let last = '';
  for (let next = await lines.next(); next.done !== true; next = await lines.next())
    last = next.value;
  expect(last).toBe('{"cut":"stopped"}');
  expect(await talks.load('count')).toEqual(COUNTED);
});
