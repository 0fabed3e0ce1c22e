import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { askEverything, fillEarly, fillLate } from './small-store.ts';

/*
 * Invariant: the index is an accelerator. Whatever happens to its files, every answer stays as it was:
 * a damaged index is found out and built again from the files of the store, which are whole.
 */

const SAMPLES = 60;
const root = mkdtempSync(join(tmpdir(), 'quipu-index-'));
const whole = join(root, 'whole');
const clock = (): number => 1000;
let answers: readonly (string | undefined)[];

beforeAll(async () => {
  const engine = await openFilesEngine(whole, { clock });
  await fillEarly(engine);
  await fillLate(engine, false);
  await engine.close();
  answers = await openAndAsk(copyOf('asked'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function copyOf(name: string): string {
  const copy = join(root, name);
  cpSync(whole, copy, { recursive: true });
  return copy;
}

async function openAndAsk(folder: string): Promise<(string | undefined)[]> {
  const engine = await openFilesEngine(folder, { clock });
  const found = await askEverything(engine);
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
  return found;
}

function damage(folder: string, random: SeededRandom): string {
  const names = readdirSync(folder).filter((name) => name.startsWith('index.db'));
  const name = names[random.below(names.length)] ?? 'index.db';
  const bytes = readFileSync(join(folder, name));
  if (bytes.length === 0 || random.chance(0.1)) {
    rmSync(join(folder, name));
    return `${name} removed`;
  }
  const offset = random.below(bytes.length);
  if (random.chance(0.2)) {
    truncateSync(join(folder, name), offset);
    return `${name} cut to ${offset}`;
  }
  const length = random.pick([1, 1, 16, 4096]);
  for (let at = offset; at < Math.min(bytes.length, offset + length); at += 1) {
    bytes[at] = (bytes[at] ?? 0) ^ (1 + random.below(255));
  }
  writeFileSync(join(folder, name), bytes);
  return `${name}: ${length} bytes changed at ${offset}`;
}

it(`answers as before in ${SAMPLES} stores with a damaged index`, { timeout: 60_000 }, async () => {
  expect(answers).not.toContain(undefined);
  const random = new SeededRandom(17);
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const folder = copyOf(`sample-${sample}`);
    const what = damage(folder, random);
    expect(await openAndAsk(folder), what).toEqual(answers);
  }
});
