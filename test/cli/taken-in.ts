import type { TurnJson } from '../../src/context/turn.ts';
import { CliRig } from './rig.ts';

/** Five turns in two branches, and the lines that an export writes of them. */
async function exportBranches(source: CliRig): Promise<string> {
  await source.run('context', 'create', '--title', 'branches');
  const append = (context: string, ...payload: string[]): Promise<unknown> =>
    source.run('context', 'append', context, '--type', 'note', ...payload);
  await append('1', '--text', 'one');
  await append('1', '--json-payload', '{ "b": 1.50, "a": [] }');
  await append('1', '--json-payload', '{"a":1}', '--encoding', 'cbor');
  await source.run('context', 'fork', '2');
  for (const text of ['four', 'five']) await append('2', '--text', text);
  const lines = ['1', '2'].map(async (id) => (await source.run('context', 'export', id)).out);
  return (await Promise.all(lines)).join('');
}

/** What an import keeps of the turns of a context. */
async function keptIn(rig: CliRig, context: string, ...place: string[]): Promise<unknown[]> {
  const { out } = await rig.run('context', 'export', context, ...place);
  const turns = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as TurnJson);
  return turns.map(({ type, encoding, payload, payloadHash, depth }) => {
    return { type, encoding, payload, payloadHash, depth };
  });
}

interface TakenIn {
  /** The turns that the first import added to each context, and the second one. */
  readonly added: readonly number[][];
  /** What is there of the turns then, and what was in the other store. */
  readonly kept: readonly unknown[];
  readonly expected: readonly unknown[];
}

/** Imports what an export of another store wrote, twice. `place` names the store. */
export async function takeIn(rig: CliRig, ...place: string[]): Promise<TakenIn> {
  using source = new CliRig();
  const lines = await exportBranches(source);
  const added: number[][] = [];
  let contexts: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const { out } = await rig.feed(lines, 'context', 'import', '-', '--json', ...place);
    const reports = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { context: string; added: number });
    added.push(reports.map((report) => report.added));
    contexts = reports.map(({ context }) => context);
  }
  const kept = await Promise.all(contexts.map((id) => keptIn(rig, id, ...place)));
  const expected = await Promise.all(['1', '2'].map((id) => keptIn(source, id)));
  return { added, kept, expected };
}
