import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

it('prints what is there and ends on Ctrl-C with 0', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  let printed = 0;
  rig.accept = () => {
    printed += 1;
    if (printed === 6) rig.interrupt.abort();
  };
  const { code, out, err } = await rig.run('context', 'follow', '1', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(payloadsOf(out)).toEqual(['t1', 't2', 't3', 't4', 't5', 't6']);
});

it('waits for more until it is told to stop', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const printed = new Promise<void>((resolve) => (rig.accept = () => resolve()));
  const running = rig.run('context', 'follow', '1', '--after', '5');
  await printed;
  const first = await Promise.race([running, sleep(30, 'still waiting')]);
  expect(first).toBe('still waiting');
  rig.interrupt.abort();
  expect(await running).toEqual({ code: 0, out: '6  2023-11-14T22:13:20Z  note  t6\n', err: '' });
});

it('ends after a number of turns', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { out } = await rig.run('context', 'follow', '1', '-n', '2', '--json');
  expect(payloadsOf(out)).toEqual(['t1', 't2']);
  expect(await rig.run('context', 'follow', '1', '-n', '0')).toEqual({ code: 0, out: '', err: '' });
});
