import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LockNote } from '../../src/queue/dispatch/consumer-lock.ts';
import { ThreadRig, eventually } from './rig.ts';
import type { Ran } from './rig.ts';

const SOURCES = [
  'external:telegram:tg-main:dm:alice:alice',
  'external:slack:slack-work:channel:grp-123:bob',
  'internal:dm:default:warden',
  'internal:dm:health-check-0320:maintainer',
  'self',
];
/** The filters that people write first, and which of the sources each one takes. */
const FILTERS: readonly (readonly [
  consumer: string,
  filter: string,
  matches: readonly string[],
])[] = [
  ['outside', "source LIKE 'external:%'", ['1', '2']],
  ['telegram', "source LIKE 'external:telegram:%'", ['1']],
  ['warden', "source LIKE 'internal:%:warden'", ['3']],
  ['own', "source = 'self'", ['5']],
  ['alice', "source LIKE '%:alice'", ['1']],
];

/** A handler as people write it, with the program itself; it dies in the middle of its first run. */
function shellHandler({ notes }: ThreadRig): string {
  return [
    'last=$(thread info --thread "$THREAD_DIR" --json | sed -E \'s/.*"consumer_id":"shell","last_acked_id":([0-9]+).*/\\1/\')',
    'while out=$(thread pop --thread "$THREAD_DIR" --consumer shell --last-event-id $last --limit 2) && [ -n "$out" ]',
    `do echo "$out" >> ${notes}/shell.got; last=$(echo "$out" | tail -1 | sed -E 's/^."id":([0-9]+).*/\\1/')`,
    `[ -e ${notes}/died ] || { touch ${notes}/died; kill -9 $$; }; done`,
  ].join('; ');
}

async function subscribeAll(rig: ThreadRig): Promise<void> {
  const subscribe = 'thread subscribe --thread inbox --consumer';
  for (const [consumer, filter] of FILTERS) {
    const row = await rig.sh(
      `${subscribe} ${consumer} --handler '${rig.handler()}' --filter "${filter}"`,
    );
    expect(row).toMatchObject({ code: 0, out: `Subscribed ${consumer}\n`, err: '' });
  }
  expect((await rig.sh(`${subscribe} all --handler 'PAGE=5000 ${rig.handler()}'`)).code).toBe(0);
  await rig.sh('cat > work.sh', shellHandler(rig));
  const filter = "subtype IS NULL OR subtype <> 'bulk'";
  const shell = await rig.sh(
    `${subscribe} shell --handler 'bash ${rig.folder}/work.sh' --filter "${filter}" --json`,
  );
  expect(JSON.parse(shell.out)).toEqual({
    consumer_id: 'shell',
    handler_cmd: `bash ${rig.folder}/work.sh`,
    filter,
  });
}

/** As when the power fails: the daemon, the supervisors and the handlers. */
function killEverything(rig: ThreadRig): void {
  const locks = readdirSync(join(rig.inbox, 'run')).map((name) => join(rig.inbox, 'run', name));
  const notes = [join(rig.spool, 'daemon.json'), ...locks].map(
    (path) => JSON.parse(readFileSync(path, 'utf8')) as LockNote & { pid: number },
  );
  const [daemon, ...running] = notes;
  const supervisors = new Set(running.map(({ supervisor }) => supervisor.pid));
  for (const pid of [daemon!.pid, ...supervisors]) process.kill(pid, 'SIGKILL');
  for (const { handler } of running) process.kill(-handler!.pid, 'SIGKILL');
}

describe('the program thread', { timeout: 120_000 }, () => {
  it('takes events to the handlers that want them, through crashes and a restart of everything', async () => {
    using rig = new ThreadRig();
    const { inbox } = rig;
    expect(await rig.sh('thread init inbox')).toEqual({
      code: 0,
      out: `Initialized thread ${inbox}\n`,
      err: '',
    });
    await subscribeAll(rig);

    const push = (source: string): Promise<Ran> =>
      rig.sh(`thread push --thread inbox --source ${source} --type message --content 'hé "you"'`);
    expect(await push(SOURCES[0]!)).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    const lines = SOURCES.slice(1).map((source) =>
      JSON.stringify({ source, type: 'record', subtype: 'decision', content: source }),
    );
    const batch = await rig.sh('thread push --thread inbox --batch', lines.join('\n'));
    expect(batch).toEqual({ code: 0, out: 'Pushed 4 events (2-5)\n', err: '' });
    const task = ['--task-id', `dispatch-${slugOf(inbox)}`];
    const asked = [SOURCES[0], 'self'].map((author) =>
      ['task', 'add', '--author', author, ...task].concat(
        '--command',
        `thread dispatch --thread ${inbox}`,
      ),
    );
    // Nobody waits for it, so they may come in another order.
    await eventually(() => rig.noted.length === 2);
    expect(new Set(rig.noted)).toEqual(new Set(asked));
    for (const [consumer, , matches] of FILTERS) {
      await eventually(() => rig.notesOf(consumer, 'handled').length >= matches.length);
      expect(rig.notesOf(consumer, 'handled')).toEqual(matches);
    }
    // What it had not acknowledged when it died came again.
    const got = (): number[] =>
      rig.notesOf('shell', 'got').map((line) => (JSON.parse(line) as { id: number }).id);
    await eventually(() => got().includes(5));
    expect(new Set(got())).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(got().filter((id) => id === 1)).toHaveLength(2);

    // One is 10,000 events behind the others, and the file for people begins anew.
    const bulk = '{"source":"bulk","type":"record","subtype":"bulk","content":"x"}\n';
    const many = await rig.sh('thread push --thread inbox --batch', bulk.repeat(10_000));
    expect(many).toEqual({ code: 0, out: 'Pushed 10000 events (6-10005)\n', err: '' });
    await eventually(() => rig.notesOf('all', 'handled').length === 10_005 && rig.isQuiet);

    // Everything is killed while handlers are in the middle of an event.
    writeFileSync(join(rig.notes, 'halt'), '');
    expect((await push(SOURCES[0]!)).code).toBe(0);
    const halted = ['outside', 'telegram', 'alice', 'all'];
    await eventually(() => halted.every((name) => rig.notesOf(name, 'halted').length === 1));
    await eventually(() => got().at(-1) === 10_006);
    killEverything(rig);
    rmSync(join(rig.notes, 'halt'));
    expect((await rig.sh('notifier status')).out).toMatch(/^daemon +not running$/m);
    expect(await push('self')).toEqual({ code: 0, out: 'Pushed event 10007\n', err: '' });
    await eventually(() => got().at(-1) === 10_007 && rig.notesOf('own', 'handled').length === 2);
    await eventually(() => rig.isQuiet);
    expect(rig.notesOf('alice', 'handled')).toEqual(['1', '10006', '10006']);
    expect(rig.notesOf('all', 'handled').slice(-3)).toEqual(['10006', '10006', '10007']);
    for (const name of [...halted, 'own']) expect(rig.notesOf(name, 'twice')).toEqual([]);

    const info = JSON.parse((await rig.sh('thread info --thread inbox --json')).out) as {
      progress: { consumer_id: string; last_acked_id: number; lag: number }[];
    };
    const acked = Object.fromEntries(
      info.progress.map(({ consumer_id, last_acked_id }) => [consumer_id, last_acked_id]),
    );
    expect(acked).toMatchObject({ all: 10_007, alice: 10_006, own: 10_007, warden: 3 });
    expect(info.progress.map(({ lag }) => lag)).toEqual(info.progress.map(() => 0));
    await readAsPeopleDo(rig);
  });

  it('stores an event whatever the notifier does, and then starts the handlers itself', async () => {
    using rig = new ThreadRig();
    await rig.sh('thread init inbox');
    await rig.sh(`thread subscribe --thread inbox --consumer w --handler '${rig.handler()}'`);
    const push = 'thread push --thread inbox --source self --type message --content x';
    const dead = await rig.sh(`NOTIFIER_EXIT=3 ${push}`);
    expect(dead).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 1);
    expect(readFileSync(join(rig.inbox, 'logs', 'thread.log'), 'utf8')).toMatch(
      /\[WARN\] push: notifier task=\S+ failed: exit 3; dispatching from here/,
    );
    const missing = await rig.sh(`THREAD_NOTIFIER=/no/such/notifier ${push}`);
    expect(missing).toEqual({ code: 0, out: 'Pushed event 2\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 2);
    // 1 means that the task is queued already: nothing is wrong, and nothing more to do.
    expect(await rig.sh(`NOTIFIER_EXIT=1 ${push} --json`)).toEqual({
      code: 0,
      out: '{"id":3}\n',
      err: '',
    });
    await eventually(() => rig.isQuiet);
    const dispatched = await rig.sh('thread dispatch --thread inbox');
    expect(dispatched).toEqual({ code: 0, out: 'started w\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 3);
    await eventually(() => readdirSync(join(rig.inbox, 'run')).length === 0);
  });
});

/** The log, and the files of lines. */
async function readAsPeopleDo(rig: ThreadRig): Promise<void> {
  const log = rig.lines(join(rig.inbox, 'logs', 'thread.log')).join('\n');
  for (const line of [
    /\] \[INFO\] push: source=external:telegram:tg-main:dm:alice:alice type=message id=1\n/,
    /\] \[INFO\] push: events=4 id=2-5\n/,
    /\] \[INFO\] push: notifier task=dispatch-\S+ queued\n/,
    /\] \[INFO\] dispatch: consumer=own spawned handler_cmd="/,
    /\] \[WARN\] dispatch: consumer=shell handler failed \(1\): (?:exit 137|signal SIGKILL)/,
  ]) {
    expect(log).toMatch(line);
  }
  const old = readdirSync(rig.inbox).filter((name) => /^events-\d{8}-\d{6}\.jsonl$/.test(name));
  expect(old).toHaveLength(1);
  expect(rig.lines(join(rig.inbox, old[0]!))).toHaveLength(10_005);
  const peeked = await rig.sh('thread peek --thread inbox --last-event-id 10005');
  expect(rig.lines(join(rig.inbox, 'events.jsonl'))).toEqual(peeked.out.trim().split('\n'));
}

function slugOf(path: string): string {
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, '-').replace(/^-/, '');
  if (slug.length > 40) throw new Error('the temporary folder has a long name');
  return slug;
}
