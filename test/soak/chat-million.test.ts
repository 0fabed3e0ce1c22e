import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { grow, use } from '../chat/long-chat.ts';

it('opens a chat of 1,000,000 events in under 100 ms, and appends as to a short one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-chat-'));
  try {
    await grow(folder, 0, 10_000);
    const short = await use(folder);
    await grow(folder, 10_020, 1_000_000);
    // The first run warms code up, as any program that opens chats has.
    await use(folder);
    const long = await use(folder);
    expect(long.events).toBe(1_000_040);
    process.stdout.write(`${JSON.stringify(long)}\n`);
    expect(long.open.ms).toBeLessThan(100);
    // The first page also reads the index of ids, twelve bytes a message.
    expect(long.status.ms + long.page.ms).toBeLessThan(2000);
    expect(long.append.lines).toBeLessThanOrEqual(short.append.lines + 5);
    expect(long.append.ms).toBeLessThan(short.append.ms * 3 + 50);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
