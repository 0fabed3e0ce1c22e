import type { CliRig } from './rig.ts';

/** Context 1 with turns 1 to 6, whose payloads are the texts `t1` to `t6`. */
export async function sixTurns(rig: CliRig): Promise<void> {
  await rig.run('context', 'create');
  const lines = [1, 2, 3, 4, 5, 6].map(
    (n) => `{"type":"note","encoding":"text","payload":"t${n}"}`,
  );
  await rig.feed(lines.join('\n'), 'context', 'append-batch', '1');
}

/** The payloads in lines of JSON, in order. */
export function payloadsOf(lines: string): unknown[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { payload?: unknown }).payload);
}
