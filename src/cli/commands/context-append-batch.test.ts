import { beforeEach, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

let rig: CliRig;
beforeEach(async () => {
  rig = new CliRig();
  await rig.run('context', 'create');
  return () => rig[Symbol.dispose]();
});

const BATCH = ['context', 'append-batch', '1'];

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
