import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { takeIn } from '../../../test/cli/taken-in.ts';
import { serveHttp } from '../../../test/service/http-rig.ts';
import { RestartableServer } from '../../../test/support/restartable-server.ts';
import type { TurnJson } from '../../context/turn.ts';

let rig: CliRig;
beforeEach(() => {
  rig = new CliRig();
  return () => rig[Symbol.dispose]();
});

const THERE = ['--store', './there'];

const append = (context: string, ...more: string[]): Promise<unknown> =>
  rig.run('context', 'append', context, '--type', 'note', ...more);

async function exported(context: string, ...place: string[]): Promise<string> {
  return (await rig.run('context', 'export', context, ...place)).out;
}

const turnsOf = (lines: string): TurnJson[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TurnJson);

/** The part of a turn that an import keeps. */
const keptOf = (lines: string): unknown[] =>
  turnsOf(lines).map(({ type, version, encoding, payloadHash, payload, depth, size }) => {
    return { type, version, encoding, payloadHash, payload, depth, size };
  });

async function countTurns(place: string): Promise<number> {
  const { out } = await rig.run('stats', '--json', '--store', place);
  return (JSON.parse(out) as { turns: number }).turns;
}

/** Turns 1 to `count` in context 1. */
async function manyTurns(count: number): Promise<void> {
  await rig.run('context', 'create');
  const lines = Array.from({ length: count }, (_, n) => `{"type":"note","payload":{"n":${n}}}`);
  await rig.feed(lines.join('\n'), 'context', 'append-batch', '1');
}

describe('quipu context import', () => {
  it('keeps types and bytes, whatever the encoding', async () => {
    await rig.run('context', 'create', '--title', 'all sorts');
    await append('1', '--text', 'plain\ntext');
    await append('1', '--json-payload', '{ "b": 1,\n  "a": [1.50, "é"] }');
    await append('1', '--json-payload', '{"a":{"b":null}}', '--encoding', 'msgpack');
    await append('1', '--json-payload', '{"a":[1,2]}', '--encoding', 'cbor', '--type-version', '7');
    writeFileSync(join(rig.cwd, 'shot.png'), Buffer.from([0x89, 0x50, 0, 0xff]));
    await append('1', '--file', 'shot.png', '--encoding', 'bytes');
    await append('1', '--text', 'a secret');
    await append('1', '--text', 'wrong');
    await rig.run('context', 'tombstone', '6', '--reason', 'personal data');
    await rig.run('context', 'patch', '7', '--text', 'right');
    await rig.run('context', 'export', '1', '--out', 'turns.jsonl');
    expect(await rig.run('context', 'import', 'turns.jsonl', ...THERE)).toEqual({
      code: 0,
      out: '1\n',
      err: '',
    });
    const [before, after] = [await exported('1'), await exported('1', ...THERE)].map(turnsOf);
    expect(after).toHaveLength(7);
    for (const [index, turn] of (before ?? []).entries()) {
      const { type, version, encoding, payloadHash, payload, depth } = turn;
      const same = { type, version, encoding, payloadHash, payload, depth };
      expect(after?.[index]).toMatchObject(
        index === 5 ? { type, version, tombstone: true, reason: 'personal data' } : same,
      );
    }
    expect(before?.[1]).toHaveProperty('bytes');
    expect((await rig.run('context', 'turn', '2', '--raw', ...THERE)).out).toBe(
      '{ "b": 1,\n  "a": [1.50, "é"] }',
    );
    const again = await rig.run('context', 'import', 'turns.jsonl', ...THERE, '--json');
    expect(JSON.parse(again.out)).toEqual({ context: '1', turns: 7, added: 0 });
  });

  it('shares what branches share, in one run or in many, in any order', async () => {
    for (const text of ['one', 'two', 'three']) await append('1', '--text', text);
    await rig.run('context', 'create');
    for (const text of ['one', 'two', 'three']) await append('1', '--text', text);
    await rig.run('context', 'fork', '2');
    for (const text of ['four', 'five']) await append('2', '--text', text);
    const [main, branch] = [await exported('1'), await exported('2')];
    expect(turnsOf(branch).map(({ context }) => context)).toEqual(['1', '1', '2', '2']);
    for (const [place, inputs] of Object.entries({
      one: [main + branch],
      two: [main, branch],
      other: [branch, main, branch],
    })) {
      for (const input of inputs) await rig.feed(input, 'context', 'import', '-', '--store', place);
      expect(await countTurns(place)).toBe(5);
      const graph = await rig.run('log', '1', '--graph', '--oneline', '--store', place);
      expect(graph.out.split('\n').filter((line) => line.includes('note one'))).toHaveLength(1);
      const contexts = turnsOf((await rig.run('context', 'list', '--json', '--store', place)).out);
      expect(contexts).toHaveLength(2);
      const [a, b] = await Promise.all(['1', '2'].map((id) => exported(id, '--store', place)));
      expect([a, b].map((lines) => keptOf(lines ?? ''))).toEqual([keptOf(main), keptOf(branch)]);
    }
  });

  it('adds what is new when it is run again, also after the head was moved', async () => {
    await manyTurns(1203);
    const first = await exported('1');
    await rig.feed(first, 'context', 'import', '-', ...THERE);
    expect(await countTurns('./there')).toBe(1203);
    await append('1', '--text', 'later');
    const { out } = await rig.feed(
      await exported('1'),
      'context',
      'import',
      '-',
      ...THERE,
      '--json',
    );
    expect(JSON.parse(out)).toEqual({ context: '1', turns: 1204, added: 1 });
    expect(keptOf(await exported('1', ...THERE))).toEqual(keptOf(await exported('1')));
    // The user goes on elsewhere: nothing is added, and nothing is moved.
    await rig.run('context', 'move', '1', '1198', ...THERE);
    await append('1', '--text', 'another way', ...THERE);
    const again = await rig.feed(first, 'context', 'import', '-', ...THERE, '--json');
    expect(again.err).toBe('');
    expect(JSON.parse(again.out)).toMatchObject({ turns: 1203, added: 0 });
    expect(await countTurns('./there')).toBe(1205);
    expect((await rig.run('context', 'last', '1', '-n', '1', ...THERE)).out).toContain(
      'another way',
    );
    const { context } = JSON.parse(again.out) as { context: string };
    expect(keptOf(await exported(context, ...THERE))).toEqual(keptOf(first));
  });

  it('goes through a server, over TCP and HTTP', async () => {
    const server = await RestartableServer.start();
    onTestFinished(() => server.dispose());
    const { url } = await serveHttp();
    for (const place of [`quipu://127.0.0.1:${server.port}`, url]) {
      const { added, kept, expected } = await takeIn(rig, '--store', place);
      expect(added).toEqual([
        [3, 2],
        [0, 0],
      ]);
      expect(kept).toEqual(expected);
    }
  });

  it('changes nothing for a file that is torn', async () => {
    await manyTurns(600);
    const whole = await exported('1');
    const torn = whole.slice(0, -30);
    writeFileSync(join(rig.cwd, 'torn.jsonl'), torn);
    expect(await rig.run('context', 'import', 'torn.jsonl', ...THERE)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^quipu: line 600 is not JSON/) as string,
    });
    expect(await rig.run('stats', ...THERE)).toMatchObject({ code: 1 });
    expect(readFileSync(join(rig.cwd, 'torn.jsonl'), 'utf8')).toBe(torn);
    // Standard input cannot be read twice.
    const piped = await rig.feed(torn, 'context', 'import', '-', ...THERE);
    expect(piped.err).toContain('the 500 turns before were kept');
    const { out } = await rig.feed(whole, 'context', 'import', '-', ...THERE, '--json');
    expect(JSON.parse(out)).toEqual({ context: '1', turns: 600, added: 100 });
    expect(keptOf(await exported('1', ...THERE))).toEqual(keptOf(whole));
  });

  it.each([
    ['', /has no turns/],
    ['[]', /line 1 is not a JSON object/],
    ['{"type":"note","payload":1}', /line 1 has no "id"/],
    ['{"id":"1","parent":"0","context":"1","type":"note"}', /line 1 has no "payload"/],
    ['{"id":"2","parent":"1","context":"1","type":"note","payload":1}', /not the line before/],
    ['{"id":"1","parent":"2","context":"1","type":"note","payload":1}', /ids that no turn has/],
    ['{"id":"1","parent":"0","context":"1","type":"note","payload":1,"evil":1}', /unknown field/],
    [
      '{"id":"1","parent":"0","context":"1","type":"note","payload":1,"payloadHash":"00"}',
      /does not fit its "payloadHash"/,
    ],
    ['{"id":"1","parent":"0","context":"1","type":"a\\u0000b","payload":1}', /line 1/],
    ['{"id":"-1","parent":"0","context":"1","type":"note","payload":1}', /line 1 has no "id"/],
    [`${'['.repeat(100_000)}`, /line 1/],
  ])('refuses %.60s', async (line, expected) => {
    writeFileSync(join(rig.cwd, 'bad.jsonl'), line);
    const { code, out, err } = await rig.run('context', 'import', 'bad.jsonl');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(expected);
    expect(await rig.run('stats')).toMatchObject({ code: 1 });
  });
});
