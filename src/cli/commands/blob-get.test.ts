import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index % 251);
let rig: CliRig;
let hash: string;
beforeEach(async () => {
  rig = new CliRig();
  hash = (await rig.feed(BYTES, 'blob', 'put', '-')).out.trim();
  return () => rig[Symbol.dispose]();
});

it('prints the bytes, all or some', async () => {
  await rig.run('blob', 'get', hash);
  expect([...rig.printed]).toEqual([...BYTES]);
  await rig.run('blob', 'get', `b3:${hash}`, '--start', '10', '--end', '20');
  expect([...rig.printed]).toEqual([...BYTES.subarray(10, 20)]);
});

it('writes a file', async () => {
  expect(await rig.run('blob', 'get', hash, '--out', 'x')).toEqual({ code: 0, out: '', err: '' });
  expect([...readFileSync(join(rig.cwd, 'x'))]).toEqual([...BYTES]);
});

it('tells a missing blob from a name that is none', async () => {
  expect(await rig.run('blob', 'get', '0'.repeat(64))).toMatchObject({ code: 1, out: '' });
  expect(await rig.run('blob', 'get', 'nonsense')).toMatchObject({ code: 2, out: '' });
});
