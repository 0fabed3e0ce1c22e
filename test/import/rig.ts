import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { importHistory } from '../../src/import/import-history.ts';
import type { ImportOptions } from '../../src/import/import-history.ts';
import type { ImportReport } from '../../src/import/keep/import-report.ts';
import { readImportedTurn } from '../../src/import/show/imported-turn.ts';
import type { Block, Source } from '../../src/import/source/source.ts';
import { openStore } from '../../src/open-store.ts';
import type { Context } from '../../src/context/context.ts';
import type { Store } from '../../src/store/store.ts';
import { scratchFolder } from '../support/scratch-folder.ts';

/** A home of an agent and a store, both in a folder that goes with the test. */
export interface Scene {
  readonly home: string;
  readonly store: Store;
  /** Writes a file below the home: records as lines, or text as it is. */
  write(name: string, content: string | readonly object[]): Promise<string>;
  run(source: Source, options?: Partial<ImportOptions>): Promise<ImportReport>;
}

export async function createScene(): Promise<Scene> {
  const folder = await mkdtemp(join(scratchFolder(), 'quipu-import-'));
  const home = join(folder, 'home');
  await mkdir(home);
  const store = await openStore(join(folder, 'store'));
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    home,
    store,
    async write(name, content) {
      const path = join(home, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, typeof content === 'string' ? content : toLines(content));
      return path;
    },
    run: (source, options = {}) => importHistory(store, source, { place: home, ...options }),
  };
}

export function toLines(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** The contexts of a source, oldest first. */
export async function contextsOf(store: Store, { name }: Source): Promise<Context[]> {
  const { items } = await store.contexts.list({ kind: `import.${name}`, limit: 10_000 });
  return items.toSorted((a, b) => Number(a.id - b.id));
}

/** A line for each turn of a context: its role or kind, and its content in short. */
export async function showContext(
  store: Store,
  source: Source,
  context: Context,
): Promise<string[]> {
  const { turns } = await store.contexts.last(context.id, 10_000);
  return turns.map(({ type, payload }) => {
    const turn = readImportedTurn(type, payload);
    if (turn === undefined) return type;
    const { head, what, records } = turn;
    const meta = head.flags === undefined ? '' : ` (${head.flags.join(', ')})`;
    const shown = records
      .flatMap((record) => source.show(record))
      .map(showBlock)
      .join(' | ');
    return `${what === 'message' ? (head.role ?? 'nobody') : `${what} ${head.kind ?? ''}`.trim()}${meta}: ${shown}`;
  });
}

function showBlock(block: Block): string {
  switch (block.is) {
    case 'text':
      return block.text.slice(0, 60);
    case 'thinking':
      return `thinking ${block.text.slice(0, 60)}`;
    case 'call':
      return `call ${block.name} ${JSON.stringify(block.input)}`;
    case 'result':
      return `result ${block.text.slice(0, 60)}`;
    case 'image':
      return `image ${block.mime} ${block.data.slice(0, 24)}`;
  }
}

/** All contexts of a source as text: what a golden result holds. */
export async function showAll(store: Store, source: Source): Promise<Record<string, unknown>[]> {
  const contexts = await contextsOf(store, source);
  const names = new Map(contexts.map(({ id }, index) => [String(id), `context ${index + 1}`]));
  return Promise.all(
    contexts.map(async (context) => ({
      title: context.title,
      base: context.base === 0n ? 'none' : await nameOf(store, context),
      meta: JSON.parse(
        JSON.stringify(context.meta, (key, value: unknown) =>
          key === 'path' || key === 'turn'
            ? undefined
            : ['context', 'branchOf'].includes(key)
              ? names.get(String(value))
              : value,
        ) ?? 'null',
      ) as unknown,
      turns: await showContext(store, source, context),
    })),
  );
}

async function nameOf(store: Store, { base }: Context): Promise<string> {
  const turn = await store.contexts.turn(base);
  return `depth ${turn?.depth ?? '?'}`;
}
