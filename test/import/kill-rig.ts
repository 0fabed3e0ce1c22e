import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exportHistory } from '../../src/import/out/export-history.ts';
import { SOURCES } from '../../src/import/sources/all-sources.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { sumUsage } from '../../src/import/sum-usage.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { projectPath } from '../support/project.ts';
import { scratchFolder } from '../support/scratch-folder.ts';
import { contextsOf, toLines } from './rig.ts';

/**
 * Kills imports at random moments. Invariant: after the next run the store equals one that was imported in one go: the
 * same contexts with the same turns, the same records beside them, the same sums of tokens.
 */
export async function killImports(rounds: number, random: () => number): Promise<string[]> {
  const folder = await mkdtemp(join(scratchFolder(), 'quipu-kill-'));
  try {
    const home = join(folder, 'home');
    await writeHome(home);
    const began = Date.now();
    await runImport(join(folder, 'whole'), home, Infinity);
    const tookMs = Date.now() - began;
    const expected = await digest(join(folder, 'whole'));
    const different: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const place = join(folder, `killed-${round}`);
      // Up to two kills, from the moment that the store is open.
      for (let kills = random() < 0.5 ? 1 : 2; kills > 0; kills -= 1) {
        await runImport(place, home, random() * tookMs);
      }
      await runImport(place, home, Infinity);
      const found = await digest(place);
      if (found !== expected) different.push(`round ${round}: ${firstDifference(found, expected)}`);
      await rm(place, { recursive: true, force: true });
    }
    return different;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function firstDifference(found: string, expected: string): string {
  const [a, b] = [found.split('\n'), expected.split('\n')];
  const at = a.findIndex((line, index) => line !== b[index]);
  return `${a[at]?.slice(0, 300) ?? 'nothing'} and not ${b[at]?.slice(0, 300) ?? 'nothing'}`;
}

/** Kills the process so many milliseconds after the store is open. */
async function runImport(place: string, home: string, killMs: number): Promise<void> {
  const script = projectPath('test/import/import-process.mjs');
  const child = spawn(process.execPath, [script, place, home, 'claude-code'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let timer: NodeJS.Timeout | undefined;
  child.stdout.once('data', () => {
    if (killMs !== Infinity) timer = setTimeout(() => child.kill('SIGKILL'), killMs);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  if (code !== 0 && killMs === Infinity) throw new Error(`the import ended with ${code}`);
}

/** Everything an import has stored, without the ids that the store gave out. */
export async function digest(place: string): Promise<string> {
  await using store = await openStore(place);
  const lines: string[] = [];
  for (const context of await contextsOf(store, claudeCode)) {
    const { turns } = await store.contexts.last(context.id, 10_000, { payload: false });
    const { title, meta } = context;
    const about = JSON.stringify({ title, meta }, (key, value: unknown) =>
      ['context', 'branchOf', 'turn'].includes(key) ? typeof value : value,
    );
    const hashes = turns.map(({ type, payloadHash }) => `${type} ${payloadHash ?? ''}`);
    lines.push(`${about} ${hashes.join(' ')} ${await recordsOf(store, context.id)}`);
  }
  const usage = await sumUsage(store, SOURCES, { by: 'day' });
  return [...lines.toSorted(), JSON.stringify(usage)].join('\n');
}

async function recordsOf(
  store: Store,
  id: Parameters<Store['contexts']['get']>[0],
): Promise<string> {
  let text = '';
  for await (const piece of exportHistory(store, BigInt(id) as never, 'jsonl', SOURCES))
    text += piece;
  return JSON.stringify(text.split('\n').toSorted());
}

/** Sessions with branches, copies, subagents, pictures and events. */
async function writeHome(home: string): Promise<void> {
  const picture = Buffer.alloc(3000, 9).toString('base64');
  for (let session = 0; session < 24; session += 1) {
    const origin = session % 3 === 2 ? session - 1 : session;
    const records: object[] = [];
    let parentUuid: string | null = null;
    const add = (of: number, n: number, fields: object): void => {
      const uuid = `${of}-${n}`;
      const timestamp = new Date(Date.UTC(2026, 0, 1 + of, 0, 0, n)).toISOString();
      records.push({ parentUuid, uuid, cwd: '/w', timestamp, ...fields });
      parentUuid = uuid;
    };
    for (let n = 0; n < 120; n += 1) {
      const of = n < 60 ? origin : session;
      if (n % 40 === 30) parentUuid = `${of}-${n - 10}`;
      const usage = { input_tokens: 1, output_tokens: n };
      if (n % 5 === 4) add(of, n, { type: 'progress', data: n });
      else if (n % 2 === 0) {
        const image = {
          type: 'image',
          source: { type: 'base64', media_type: 'image/png', data: picture },
        };
        add(of, n, {
          type: 'user',
          message: { content: n % 16 === 0 ? [image] : `prompt ${n} of ${of}` },
        });
      } else {
        const content = [{ type: 'text', text: `answer ${n} `.repeat(50) }];
        add(of, n, {
          type: 'assistant',
          message: { id: `m${of}-${n}`, model: 'x', content, usage },
        });
      }
    }
    const path = join(home, `projects/-w${session % 4}/session-${session}.jsonl`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, toLines(records));
  }
}
