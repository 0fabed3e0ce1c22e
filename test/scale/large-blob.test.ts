import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { measure } from './measure.ts';

const SIZE = 1024 ** 3 / 4;

it('streams 256 MiB in and out in bounded memory', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-scale-'));
  try {
    const { same, stored, peakRssBytes } = await measure('large-blob.mjs', folder, String(SIZE));
    expect({ same, stored }).toEqual({ same: 1, stored: SIZE });
    expect(peakRssBytes).toBeLessThan(300e6);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
