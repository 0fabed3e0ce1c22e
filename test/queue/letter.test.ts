/** What the command `thread` does in the cases that are easily got wrong. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { quoteForShell } from '../../src/queue/notifier.ts';
import { PUSH, Rig, SUBSCRIBE, start } from './command-rig.ts';
import type { Ran } from './command-rig.ts';

describe('thread', () => {
  it('prints nothing past the end, and wakes for what comes', async () => {
    const rig = await start();
    await rig.on('subscribe', ...SUBSCRIBE);
    await rig.on('push', ...PUSH);
    const nothing = { code: 0, out: '', err: '' };
    expect(await rig.on('peek', '--last-event-id', '99')).toEqual(nothing);
    expect(await rig.on('pop', '--consumer', 'w', '--last-event-id', '99')).toEqual(nothing);
    await rig.on('push', ...PUSH);
    const { progress } = JSON.parse((await rig.on('info', '--json')).out) as {
      progress: unknown[];
    };
    expect(progress).toMatchObject([{ consumer_id: 'w', last_acked_id: 1, lag: 1 }]);
  });

  it('takes an empty content, and a batch without events', async () => {
    const rig = await start();
    const empty = ['--source', 's', '--type', 'message', '--content', ''];
    expect(await rig.on('push', ...empty)).toEqual({ code: 0, out: 'Pushed event 1\n', err: '' });
    expect((await rig.on('peek', '--last-event-id', '0')).out).toMatch(/"content":""}\n$/);
    for (const input of ['', '\n \n']) {
      const batch = ['push', '--thread', 't', '--batch'];
      expect(await rig.feed(input, ...batch)).toMatchObject({ code: 0, out: 'Pushed 0 events\n' });
      expect(await rig.feed(input, ...batch, '--json')).toMatchObject({
        code: 0,
        out: '{"ids":[]}\n',
      });
    }
  });

  it('takes consumers with any name that a file can have', async () => {
    const rig = await start();
    for (const name of ['Worker 1', 'agent:a@b', 'Zoë', '工人', "it's", '..', 'x'.repeat(128)]) {
      const row = await rig.on('subscribe', '--consumer', name, '--handler', 'true');
      expect(row).toMatchObject({ code: 0, out: `Subscribed ${name}\n` });
      const again = await rig.on('subscribe', '--consumer', name, '--handler', 'true');
      expect(again.err).toContain(`--thread t --consumer ${quoteForShell(name)}, then`);
      expect((await rig.on('pop', '--consumer', name, '--last-event-id', '0')).code).toBe(0);
      expect((await rig.on('unsubscribe', '--consumer', name)).code).toBe(0);
    }
  });

  it('looks into content that is JSON, and passes over what is not', async () => {
    const rig = await start();
    const push = (content: string): Promise<Ran> =>
      rig.on('push', '--source', 's', '--type', 'record', '--content', content);
    for (const content of ['{"kind":"a","n":5}', 'no JSON', '{"kind":"b","n":7}'])
      await push(content);
    const peek = async (filter: string): Promise<string[]> => {
      const { out } = await rig.on('peek', '--last-event-id', '0', '--filter', filter);
      return [...out.matchAll(/^{"id":(\d+)/gm)].map(([, id]) => id!);
    };
    expect(await peek("json_extract(content, '$.kind') = 'a'")).toEqual(['1']);
    expect(await peek("json_extract(content, '$.n') > 5")).toEqual(['3']);
    expect(await peek("json_extract(content, '$.kind') IS NULL")).toEqual(['2']);
    expect(await peek("type IS 'record' AND subtype IS NOT 'x'")).toEqual(['1', '2', '3']);
    expect(await peek("lower(content) LIKE 'no %' OR length(content) < 3")).toEqual(['2']);
    expect(await peek("substr(content, 1, 2) = 'no' AND instr(content, 'J') > 0")).toEqual(['2']);
  });

  it('says at once that a place cannot be', async () => {
    const rig = new Rig();
    const [folder, file] = ['/proc/quipu/t', join(rig.cwd, 'file', 't')];
    writeFileSync(join(rig.cwd, 'file'), '');
    for (const path of [folder, file]) {
      const ran = await rig.run('init', path);
      expect(ran).toMatchObject({ code: 1, out: '' });
      expect(ran.err).toMatch(/^Error: .+ - .+\n$/);
    }
  });

  it.each([
    [['push', '--thread', 't'], 'add --source; see thread push --help --verbose'],
    [['pop', '--thread', 't'], 'add --consumer <id>; see thread pop --help --verbose'],
    [['info'], 'add --thread <path>; see thread info --help --verbose'],
    [['frobnicate'], "unknown command 'frobnicate' - see thread --help"],
    [
      ['pop', '--thread=t', '--consumer', 'x', '--last-event-id', '0'],
      'thread subscribe --thread t --consumer x --handler <cmd>',
    ],
  ])('says how to mend %j', async (argv, advice) => {
    const rig = await start();
    expect((await rig.run(...argv)).err).toContain(advice);
  });
});
