import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { importHistory, importSources, openStore } from '../../src/index.ts';
import type { Result, Trial } from './workload.ts';

const WRITE_HOME = fileURLToPath(new URL('import-home.js', import.meta.url));

/** Imports `size` bytes in `from` files, and then the same tree again. */
export async function importing(trial: Trial): Promise<Result> {
  const home = join(trial.folder, 'home');
  const args = [WRITE_HOME, home, String(trial.size), String(trial.from ?? 1)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const bytes = Number(stdout);
  const source = importSources.find(({ name }) => name === 'claude-code');
  if (source === undefined) throw new Error('there is no such source');
  const place = join(trial.folder, 'store');
  const first = await openStore(place);
  const began = performance.now();
  const report = await importHistory(first, source, { place: home });
  const seconds = (performance.now() - began) / 1000;
  await first.close();
  const rssBytes = process.resourceUsage().maxRSS * 1024;
  const second = await openStore(place);
  const again = performance.now();
  const unchanged = await importHistory(second, source, { place: home });
  const againSeconds = (performance.now() - again) / 1000;
  await second.close();
  if (unchanged.turns !== 0 || report.bytesIn !== bytes) throw new Error('not all was imported');
  await rm(home, { recursive: true });
  return {
    seconds,
    againSeconds,
    rssBytes,
    bytesIn: report.bytesIn,
    bytesStored: report.bytesStored,
  };
}
