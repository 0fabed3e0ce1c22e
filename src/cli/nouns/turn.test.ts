import { CliRig } from '../../../test/cli/rig.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

describe('quipu context append', () => {
  let rig: CliRig;
  beforeEach(async () => {
    rig = new CliRig();
    await rig.run('context', 'create');
    return () => rig[Symbol.dispose]();
  });

  const append = (...more: string[]): string[] => [
    'context',
    'append',
    '1',
    '--type',
    'note',
    ...more,
  ];

  async function lastTurn(): Promise<unknown> {
    return JSON.parse((await rig.run('context', 'last', '1', '-n', '1', '--json')).out || 'null');
  }

  describe('a payload', () => {
    it('is JSON text, stored as given', async () => {
      const json = '{ "b": 1, "a": 12345678901234567890 }';
      expect(await rig.run(...append('--json-payload', json))).toEqual({
        code: 0,
        out: '1\n',
        err: '',
      });
      expect((await rig.run('context', 'turn', '1', '--raw')).out).toBe(json);
      expect(await lastTurn()).toMatchObject({ encoding: 'json', version: 1, parent: '0' });
    });

    it('is plain text, whatever it looks like', async () => {
      await rig.run(...append('--text', '--json'));
      expect(await lastTurn()).toMatchObject({ encoding: 'text', payload: '--json' });
    });

    it('is standard input, cut anywhere', async () => {
      expect(await rig.feed('grüße 🪢\n', ...append('--stdin'))).toMatchObject({ code: 0 });
      expect(await lastTurn()).toMatchObject({ encoding: 'text', payload: 'grüße 🪢\n' });
    });

    it('is a file', async () => {
      writeFileSync(join(rig.cwd, 'x.bin'), Uint8Array.of(0xff, 0, 1));
      await rig.run(...append('--file', 'x.bin', '--encoding', 'bytes', '--type-version', '3'));
      expect(await lastTurn()).toMatchObject({ version: 3, size: 3, payload: { base64: '/wAB' } });
    });

    it('can become MessagePack', async () => {
      await rig.run(...append('--json-payload', '{"a":[1]}', '--encoding', 'msgpack'));
      expect(await lastTurn()).toMatchObject({ encoding: 'msgpack', size: 5, payload: { a: [1] } });
    });
  });

  describe('is refused with 2 and stores nothing', () => {
    it.each([
      ['no payload', append()],
      ['two payloads', append('--text', 'a', '--json-payload', '1')],
      ['no type', ['context', 'append', '1', '--text', 'a']],
      ['JSON that is none', append('--json-payload', '{a:1}')],
      ['JSON that is none, as MessagePack', append('--json-payload', '{', '--encoding', 'msgpack')],
      ['an unknown encoding', append('--text', 'a', '--encoding', 'xml')],
      ['an encoding that does not fit --text', append('--text', 'a', '--encoding', 'json')],
      [
        'an encoding that does not fit --json-payload',
        append('--json-payload', '1', '--encoding', 'text'),
      ],
      ['an unknown option', append('--text', 'a', '--payload', 'b')],
      ['a version that is no number', append('--text', 'a', '--type-version', '1x')],
      ['an empty key', append('--text', 'a', '--key', '')],
      ['a parent that is no id', append('--text', 'a', '--parent', 'x')],
    ])('%s', async (_, argv) => {
      const refused = await rig.run(...argv);
      expect(refused).toMatchObject({ code: 2, out: '' });
      expect(refused.err).toMatch(/^quipu: .+\n/);
      expect(await lastTurn()).toBe(null);
    });

    it.each([
      ['text', 'text', Uint8Array.of(0x61, 0xff)],
      ['JSON', 'json', Buffer.from('{"a":')],
    ])('input that is not %s', async (_, encoding, input) => {
      const refused = await rig.feed(input, ...append('--stdin', '--encoding', encoding));
      expect(refused).toMatchObject({ code: 2, out: '' });
      expect(refused.err).toContain('--encoding');
      expect(await lastTurn()).toBe(null);
    });
  });

  it('names a file that is missing or a directory', async () => {
    expect(await rig.run(...append('--file', 'none.txt'))).toEqual({
      code: 1,
      out: '',
      err: 'quipu: there is no file none.txt\n',
    });
    expect(await rig.run(...append('--file', '.'))).toMatchObject({ code: 2, out: '' });
  });

  it('goes on from another parent, and only from the head that is expected', async () => {
    await rig.run(...append('--text', 'one', '--expect-head', '0'));
    await rig.run(...append('--text', 'two', '--expect-head', '1'));
    expect(await rig.run(...append('--text', 'three', '--parent', '1'))).toMatchObject({ code: 0 });
    expect(await lastTurn()).toMatchObject({ id: '3', parent: '1', depth: 1 });

    const moved = await rig.run(...append('--text', 'four', '--expect-head', '2', '--json'));
    expect(moved).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(moved.err)).toMatchObject({
      error: { code: 'HEAD_MOVED', data: { context: '1', expected: '2', head: '3' } },
    });
    const told = await rig.run(...append('--text', 'four', '--expect-head', '2'));
    expect(told.err).toContain('quipu context last 1');
  });

  it('gives the first result again for a key', async () => {
    const argv = append('--text', 'once', '--key', 'k1');
    expect((await rig.run(...argv)).out).toBe('1\n');
    expect((await rig.run(...argv)).out).toBe('1\n');
    expect(await rig.run(...append('--text', 'other', '--key', 'k1'))).toMatchObject({ code: 1 });
    expect(await lastTurn()).toMatchObject({ id: '1', payload: 'once' });
  });

  it('prints the turn with --json', async () => {
    const { out } = await rig.run(...append('--json-payload', '{"a":1}', '--json'));
    expect(JSON.parse(out)).toMatchObject({ id: '1', context: '1', depth: 0, type: 'note' });
  });
});

describe('quipu context append-batch', () => {
  let rig: CliRig;
  beforeEach(async () => {
    rig = new CliRig();
    await rig.run('context', 'create');
    return () => rig[Symbol.dispose]();
  });

  const BATCH = ['context', 'append-batch', '1'];

  it('appends the lines whose own keys are new', async () => {
    const line = (n: number): string =>
      JSON.stringify({ type: 'a', payload: n, idempotencyKey: `k${n}` });
    expect((await rig.feed([line(1), line(2)].join('\n'), ...BATCH)).out).toBe('1\n2\n');
    expect((await rig.feed([line(2), line(3)].join('\n'), ...BATCH)).out).toBe('2\n3\n');
    const mixed = `${line(4)}\n{"type":"a","payload":5}`;
    expect(await rig.feed(mixed, ...BATCH)).toMatchObject({ code: 2, out: '' });
    const empty = '{"type":"a","payload":5,"idempotencyKey":""}';
    expect((await rig.feed(empty, ...BATCH)).err).toMatch(/line 1.*idempotencyKey/);
  });

  it('prints one id a line', async () => {
    const lines = [
      '{"type":"a","payload":{"n":1}}',
      '',
      '{"type":"b","version":2,"encoding":"text","payload":"grüße"}',
      '{"type":"c","encoding":"bytes","payload":{"base64":"/wA="}}',
    ];
    expect(await rig.feed(lines.join('\n'), ...BATCH)).toEqual({
      code: 0,
      out: '1\n2\n3\n',
      err: '',
    });
    const { out } = await rig.run('context', 'last', '1', '--json');
    const turns = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(turns).toMatchObject([
      { type: 'a', version: 1, encoding: 'json', payload: { n: 1 } },
      { type: 'b', version: 2, encoding: 'text', payload: 'grüße' },
      { type: 'c', encoding: 'bytes', payload: { base64: '/wA=' } },
    ]);
  });

  it('takes what export prints', async () => {
    await rig.feed('{"type":"a","payload":1}\n{"type":"b","payload":[2]}\n', ...BATCH);
    const exported = await rig.run('context', 'export', '1');
    await rig.run('context', 'create');
    expect((await rig.feed(exported.out, 'context', 'append-batch', '2')).out).toBe('3\n4\n');
  });

  it.each([
    ['{"type":"a","payload":1}\n{"type":\n', 'line 2 is not JSON'],
    ['\n[1]', 'line 2 is not a JSON object'],
    ['{"payload":1}', 'line 1 has no "type"'],
    ['{"type":"a"}', 'line 1 has no "payload"'],
    ['{"type":"a","payload":1,"Encoding":"text"}', 'line 1 has an unknown field "Encoding"'],
    ['{"type":"a","payload":1,"version":1.5}', 'line 1: version'],
    ['{"type":"a","payload":1,"encoding":"toString"}', 'line 1: encoding'],
    ['{"type":"a","payload":1,"encoding":"text"}', 'line 1: payload'],
    ['{"type":"a","payload":{"base64":"?"},"encoding":"bytes"}', 'line 1: payload'],
    [Uint8Array.of(0xff, 0x0a), 'line 1 is not valid UTF-8'],
    ['{"type":"a","payload":1}\n{"type":"a\\u0007","payload":1}', 'line 2: type'],
    ['{"type":"a","payload":1}\n\n{"type":"b","payload":"\\ud800"}', 'line 3: payload'],
    ['\n \n', 'batch is empty'],
  ])('refuses %j and stores nothing', async (input, problem) => {
    const refused = await rig.feed(input, ...BATCH);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain(problem);
    expect((await rig.run('context', 'last', '1')).out).toBe('');
  });
});

describe('quipu context stream', () => {
  let rig: CliRig;
  beforeEach(async () => {
    rig = new CliRig();
    await rig.run('context', 'create');
    return () => rig[Symbol.dispose]();
  });

  const STREAM = ['context', 'stream', '1', '--type', 'chat.message'];

  async function readTurn(): Promise<unknown> {
    return JSON.parse((await rig.run('context', 'turn', '1', '--json')).out);
  }

  it('seals the turn at the end of the input', async () => {
    expect(await rig.feed('grüße 🪢', ...STREAM)).toEqual({ code: 0, out: '1\n', err: '' });
    expect(await readTurn()).toMatchObject({
      state: 'sealed',
      encoding: 'text',
      payload: 'grüße 🪢',
    });
  });

  it('aborts on Ctrl-C and keeps what came', async () => {
    async function* silentAfterOne(): AsyncIterable<Uint8Array> {
      yield Buffer.from('partial');
      setTimeout(() => rig.interrupt.abort(), 20);
      await new Promise(() => undefined);
    }
    expect(await rig.feed(silentAfterOne(), ...STREAM)).toEqual({
      code: 1,
      out: '1\n',
      err: 'quipu: interrupted; turn 1 keeps 7 bytes as aborted\n',
    });
    expect(await readTurn()).toMatchObject({
      outcome: 'aborted',
      reason: 'interrupted',
      payload: 'partial',
    });
  });

  it('aborts on input that is not text, which bytes may be', async () => {
    const input = Buffer.concat([Buffer.from('good'), Uint8Array.of(0xff, 0xff, 0xff)]);
    const refused = await rig.feed(input, ...STREAM);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('--encoding bytes');
    expect(await readTurn()).toMatchObject({ outcome: 'aborted', payload: 'goo' });
    const taken = await rig.feed(input, ...STREAM, '--encoding', 'bytes', '--json');
    expect(JSON.parse(taken.out)).toMatchObject({ id: '2', encoding: 'bytes', size: 7 });
  });

  it('aborts when the input fails', async () => {
    async function* broken(): AsyncIterable<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('read failed');
    }
    expect(await rig.feed(broken(), ...STREAM)).toMatchObject({ code: 1, out: '' });
    expect(await readTurn()).toMatchObject({ outcome: 'aborted', reason: 'read failed' });
  });

  it('refuses to begin when the head is another', async () => {
    const refused = await rig.feed('x', ...STREAM, '--expect-head', '4');
    expect(refused).toMatchObject({ code: 1, out: '' });
  });
});
