import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

const ALL = ['t1', 't2', 't3', 't4', 't5', 't6'];

it('prints every turn from the root to the head', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(payloadsOf((await rig.run('context', 'export', '1')).out)).toEqual(ALL);
  await rig.run('context', 'create');
  expect(await rig.run('context', 'export', '2')).toEqual({ code: 0, out: '', err: '' });
});

it('writes a file that is there only when complete', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const done = await rig.run('context', 'export', '1', '--out', 'out.ndjson');
  expect(done).toEqual({ code: 0, out: '', err: '' });
  expect(payloadsOf(readFileSync(join(rig.cwd, 'out.ndjson'), 'utf8'))).toEqual(ALL);

  expect(await rig.run('context', 'export', '1', '--out', 'no/x')).toMatchObject({ code: 1 });
  expect(readdirSync(rig.cwd)).toEqual(['out.ndjson']);
});

it('shows a bar on a terminal and wipes it', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  rig.isTerminal = true;
  const { err } = await rig.run('context', 'export', '1', '--out', 'out.ndjson');
  expect(err).toBe(`\r\u001b[K####${'.'.repeat(20)} 16% turns\r\u001b[K`);
});

it('ends quietly when the reader has seen enough', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  let lines = 0;
  rig.accept = () => {
    lines += 1;
    if (lines > 2) throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  };
  const { code, out, err } = await rig.run('context', 'export', '1');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(payloadsOf(out)).toEqual(['t1', 't2']);
});
