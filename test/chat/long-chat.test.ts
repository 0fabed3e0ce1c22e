import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { grow, use } from './long-chat.ts';

it(
  'opens and goes on at the same cost after 5,000 and 50,000 events',
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-chat-'));
    try {
      await grow(folder, 0, 5000);
      const short = await use(folder);
      await grow(folder, 5020, 50_000);
      const long = await use(folder);
      expect(long.events).toBe(50_020);
      // The last segment's rest, and a line per run of the index: as many as the number of segments has bits.
      for (const { open } of [short, long]) {
        expect(open.lines).toBeLessThan(1024 + 12);
        expect(open.blobs).toBeLessThan(12);
      }
      expect(long.page.blobs).toBeLessThan(8);
      expect(long.append.lines).toBeLessThanOrEqual(short.append.lines + 5);
      expect(long.append.blobs).toBeLessThanOrEqual(short.append.blobs + 5);
      expect(long.last).toBe('message number 49998');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
