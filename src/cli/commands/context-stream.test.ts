import { beforeEach, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

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
