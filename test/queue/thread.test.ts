import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';
import { ThreadRig, eventually } from './rig.ts';

const NOTIFIER = projectPath('dist/notifier/main.js');
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

describe('the program thread', { timeout: 60_000 }, () => {
  it('takes events from a shell to the handlers that want them, through the notifier', async () => {
    using rig = new ThreadRig();
    const { inbox } = rig;
    expect(await rig.sh('thread init inbox')).toEqual({
      code: 0,
      out: `Initialized thread ${inbox}\n`,
      err: '',
    });
    for (const [consumer, filter] of FILTERS) {
      const subscribe = `thread subscribe --thread inbox --consumer ${consumer} --handler '${rig.handler()}'`;
      expect((await rig.sh(`${subscribe} --filter "${filter}"`)).code).toBe(0);
    }
    // A handler as people write it, with the program itself; it dies in the middle of its first run.
    const shell = [
      'last=$(thread info --thread "$THREAD_DIR" --json | sed -E \'s/.*"consumer_id":"shell","last_acked_id":([0-9]+).*/\\1/\')',
      'while out=$(thread pop --thread "$THREAD_DIR" --consumer shell --last-event-id $last --limit 2) && [ -n "$out" ]',
      `do echo "$out" >> ${rig.notes}/shell.got; last=$(echo "$out" | tail -1 | sed -E 's/^."id":([0-9]+).*/\\1/')`,
      `[ -e ${rig.notes}/died ] || { touch ${rig.notes}/died; kill -9 $$; }; done`,
    ].join('; ');
    const script = join(rig.folder, 'work.sh');
    await rig.sh(`cat > ${script}`, shell);
    const handler = await rig.sh(
      `thread subscribe --thread inbox --consumer shell --handler 'bash ${script}' --json`,
    );
    expect(JSON.parse(handler.out)).toEqual({
      consumer_id: 'shell',
      handler_cmd: `bash ${script}`,
      filter: null,
    });

    const pushed = await rig.sh(
      `thread push --thread inbox --source ${SOURCES[0]!} --type message --content 'héllo "you"'`,
    );
    expect(pushed).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    const lines = SOURCES.slice(1).map((source) =>
      JSON.stringify({ source, type: 'record', subtype: 'decision', content: source }),
    );
    const batch = await rig.sh('thread push --thread inbox --batch', lines.join('\n'));
    expect(batch).toEqual({ code: 0, out: 'Pushed 4 events (2-5)\n', err: '' });
    const task = ['--task-id', `dispatch-${slugOf(inbox)}`];
    expect(rig.noted).toEqual(
      [SOURCES[0], 'self'].map((author) =>
        ['task', 'add', '--author', author, ...task].concat(
          '--command',
          `thread dispatch --thread ${inbox}`,
        ),
      ),
    );

    for (const [consumer, , matches] of FILTERS) {
      await eventually(() => rig.notesOf(consumer, 'handled').length >= matches.length);
      expect(rig.notesOf(consumer, 'handled')).toEqual(matches);
    }
    // What it had not acknowledged when it died came again.
    const ids = (): number[] =>
      rig.notesOf('shell', 'got').map((line) => (JSON.parse(line) as { id: number }).id);
    await eventually(() => ids().includes(5));
    const got = ids();
    expect(new Set(got)).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(got.filter((id) => id === 1)).toHaveLength(2);
    await eventually(() => readdirSync(join(inbox, 'run')).length === 0);
    const info = JSON.parse((await rig.sh('thread info --thread inbox --json')).out) as {
      progress: { consumer_id: string; last_acked_id: number; lag: number }[];
    };
    expect(info.progress.map(({ lag }) => lag)).toEqual([0, 0, 0, 0, 0, 0]);
    const log = rig.lines(join(inbox, 'logs', 'thread.log')).join('\n');
    expect(log).toMatch(
      /\] \[INFO\] push: source=external:telegram:tg-main:dm:alice:alice type=message id=1\n/,
    );
    expect(log).toMatch(/\] \[INFO\] push: notifier task=dispatch-\S+ queued\n/);
    expect(log).toMatch(/\] \[INFO\] dispatch: consumer=own spawned handler_cmd="/);
    expect(log).toMatch(
      /\] \[WARN\] dispatch: consumer=shell handler failed \(1\): (?:exit 137|signal SIGKILL)/,
    );
    const mirror = rig.lines(join(inbox, 'events.jsonl'));
    expect(mirror.join('\n')).toBe(
      (await rig.sh('thread peek --thread inbox --last-event-id 0')).out.trim(),
    );
  });

  it('wakes handlers through the notifier of the package', async () => {
    using rig = new ThreadRig();
    rig.env['THREAD_NOTIFIER'] = undefined;
    rig.env['NOTIFIER_HOME'] = join(rig.folder, 'spool');
    await rig.sh('thread init inbox');
    await rig.sh(`thread subscribe --thread inbox --consumer w --handler '${rig.handler()}'`);
    const push = 'thread push --thread inbox --source self --type message --content x';
    expect(await rig.sh(push)).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 1);
    // Everything starts anew: the daemon with the next task, and the handler where it was.
    expect((await rig.sh(`"${process.execPath}" "${NOTIFIER}" stop`)).code).toBe(0);
    expect(await rig.sh(push)).toEqual({ code: 0, out: 'Pushed event 2\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 2);
    await rig.sh(`"${process.execPath}" "${NOTIFIER}" stop`);
    await eventually(() => readdirSync(join(rig.inbox, 'run')).length === 0);
    expect(rig.notesOf('w', 'handled')).toEqual(['1', '2']);
  });

  it('stores an event whatever the notifier does, and then starts the handlers itself', async () => {
    using rig = new ThreadRig();
    await rig.sh('thread init inbox');
    await rig.sh(`thread subscribe --thread inbox --consumer w --handler '${rig.handler()}'`);
    const push = 'thread push --thread inbox --source self --type message --content x';
    const dead = await rig.sh(`NOTIFIER_EXIT=3 ${push}`);
    expect(dead).toMatchObject({ code: 0, out: 'Pushed event 1\n' });
    expect(dead.err).toMatch(/^Warning: the notifier failed \(exit 3\)/);
    await eventually(() => rig.notesOf('w', 'handled').length === 1);
    const missing = await rig.sh(`THREAD_NOTIFIER=/no/such/notifier ${push}`);
    expect(missing).toMatchObject({ code: 0, out: 'Pushed event 2\n' });
    await eventually(() => rig.notesOf('w', 'handled').length === 2);
    // 1 means that the task is queued already: nothing is wrong, and nothing more to do.
    expect(await rig.sh(`NOTIFIER_EXIT=1 ${push} --json`)).toEqual({
      code: 0,
      out: '{"id":3}\n',
      err: '',
    });
    const dispatched = await rig.sh('thread dispatch --thread inbox');
    expect(dispatched).toEqual({ code: 0, out: 'started w\n', err: '' });
    await eventually(() => rig.notesOf('w', 'handled').length === 3);
    await eventually(() => readdirSync(join(rig.inbox, 'run')).length === 0);
  });

  it('stores nothing when the disk is full, and goes on when there is room', async () => {
    using rig = new ThreadRig();
    await rig.sh('thread init inbox');
    const push = 'thread push --thread inbox --source self --type message --content';
    const large = JSON.stringify({ source: 'self', type: 'message', content: 'x'.repeat(300_000) });
    const full = await rig.sh('ulimit -f 200; thread push --thread inbox --batch', large);
    expect(full.code).toBe(1);
    expect(full.err).toMatch(/^Error: /);
    expect((await rig.sh(`${push} x`)).out).toBe('Pushed event 1\n');
  });
});

function slugOf(path: string): string {
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, '-').replace(/^-/, '');
  if (slug.length > 40) throw new Error('the temporary folder has a long name');
  return slug;
}
