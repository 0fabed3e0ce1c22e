import { CliRig } from '../../../test/cli/rig.ts';
import { describe, expect, it } from 'vitest';

const EVENT = ['--source', 'self', '--type', 'message', '--content'];

describe('quipu queue', () => {
  it('pushes, peeks, pops and follows', async () => {
    using rig = new CliRig({ onDisk: true });
    const on = (command: string, ...argv: string[]): ReturnType<CliRig['run']> =>
      rig.run('queue', command, 'inbox', ...argv);
    expect(await on('create')).toEqual({ code: 0, out: 'inbox\n', err: '' });
    expect((await on('subscribe', 'w', '--handler', 'true', '--json')).out).toBe(
      '{"consumer_id":"w","handler_cmd":"true","filter":null}\n',
    );
    await on('unsubscribe', 'w');
    expect((await on('push', ...EVENT, 'a')).out).toBe('1\n');
    const line = '{"source":"x","type":"record","content":"b"}\n';
    const batch = await rig.feed(line + line, 'queue', 'push', 'inbox', '--batch', '--json');
    expect(batch.out).toBe('{"ids":[2,3]}\n');
    expect((await on('peek', '--filter', "type = 'message'")).out).toMatch(
      /^\{"id":1,[^\n]*"content":"a"\}\n$/,
    );
    expect((await on('follow', '--after', '1', '-n', '2')).out.match(/"id":\d/g)).toHaveLength(2);
    expect((await rig.run('queue', 'list')).out).toMatch(
      /^QUEUE +EVENTS +CONSUMERS\ninbox +3 +0\n$/,
    );
    expect((await on('dispatch')).out).toBe('');
    expect((await on('info')).out).toMatch(/^thread .*\.quipu\/queues\/inbox\nevents +3\n/);
    expect(await on('pop', 'w', '--after', '0')).toMatchObject({ code: 1 });
    expect(JSON.parse((await on('info', '--json')).out)).toMatchObject({ event_count: 3 });
  });

  it('refuses what is wrong', async () => {
    using rig = new CliRig({ onDisk: true });
    await rig.run('init');
    expect((await rig.run('queue', 'info', 'none')).code).toBe(1);
    expect((await rig.run('queue', 'create', '../x')).code).toBe(2);
    expect((await rig.run('queue', 'push', 'q', '--source', 's')).code).toBe(2);
    expect((await rig.run('queue', 'push', 'q', ...EVENT)).code).toBe(2);
    expect((await rig.run('queue', 'list')).out).toBe('');
    const work = await rig.run('queue', 'work', '--once');
    expect(work.code).toBe(1);
    expect(work.err).toMatch(/a push starts the handlers by itself/);
    expect((await rig.run('queue', 'work', '--jobs', 'x')).code).toBe(2);
  });

  it('says so where a store has no folder', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('queue', 'list')).toMatchObject({ code: 1, out: '' });
  });
});
