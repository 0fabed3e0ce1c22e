import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  countMatches,
  STRETCH_STEPS,
  type EventReader,
  type IdRange,
  type OwnLooks,
} from '../events/scan.ts';
import type { CompiledFilter } from '../filter/filter.ts';
import { EventTable } from './event-table.ts';
import { createDatabase } from './open-database.ts';
import { compileText } from './queue-database.ts';

const LARGE_BYTES = 1 << 20;
const LARGE = 12;
const SMALL = 5000;
const STRETCH_EVENTS = 20_000;
/** Each byte of a content may be compared with all of it. */
const SLOW = `content LIKE '%${'a'.repeat(60)}b'`;

let folder: string;
let table: EventTable;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-events-'));
  const path = join(folder, 'events.db');
  createDatabase(path);
  table = new EventTable(path);
});

afterEach(() => {
  vi.restoreAllMocks();
  table.close();
  rmSync(folder, { recursive: true });
});

function push(count: number, source: string, content: string): void {
  const event = { source, type: 'message' as const, subtype: null, content };
  table.insert(Array<typeof event>(count).fill(event), '2026-01-01T00:00:00.000Z');
}

/** The stretches of a scan for a filter that matches nothing. */
async function scan(
  text: string,
  within: OwnLooks<CompiledFilter>['within'] = (...given) => table.looks.within(...given),
): Promise<IdRange[]> {
  const stretches: IdRange[] = [];
  const reader: EventReader<CompiledFilter> = {
    newestId: () => table.newestId(),
    countMatches(range) {
      stretches.push(range);
      return 0;
    },
    matches: () => [],
    firstMatch: () => undefined,
    looks: { within, isMatch: async () => undefined },
  };
  await countMatches(reader, compileText(text), { after: 0, limit: 1 });
  return stretches;
}

/** Counts the rounds of the event loop during work that is interrupted wherever it can be. */
async function countRounds(work: () => Promise<unknown>): Promise<number> {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 100));
  let rounds = 0;
  let timer: NodeJS.Immediate | undefined;
  const count = (): void => {
    rounds += 1;
    timer = setImmediate(count);
  };
  count();
  await work();
  clearImmediate(timer);
  clock.mockRestore();
  return rounds;
}

/** The most bytes in one of the stretches that have more than one event. */
function mostBytes(stretches: readonly IdRange[], column: 'source' | 'content'): number {
  const sizes = stretches
    .filter(({ after, through }) => through - after > 1)
    .map((range) =>
      table.rows(range, STRETCH_EVENTS).reduce((sum, row) => sum + row[column].length, 0),
    );
  return Math.max(0, ...sizes);
}

describe('a scan', () => {
  it('looks at few large contents at a time, also after many small ones', async () => {
    push(SMALL, 'self', 'x');
    push(LARGE, 'self', 'x'.repeat(LARGE_BYTES));
    const stretches = await scan(SLOW);
    expect(stretches.at(-1)?.through).toBe(SMALL + LARGE);
    expect(mostBytes(stretches, 'content') * 60).toBeLessThan(STRETCH_STEPS);
    // One large content alone may take more than all steps.
    expect(stretches.filter(({ after }) => after >= SMALL)).toHaveLength(LARGE);
    expect(stretches.length).toBeLessThan(LARGE + SMALL / 100);
    const twin = await scan(SLOW, ({ through }) => through);
    expect(mostBytes(twin, 'content') * 60).toBeGreaterThan(STRETCH_STEPS);
  });

  it('looks at several large contents at a time when the filter is fast', async () => {
    push(LARGE, 'self', 'x'.repeat(LARGE_BYTES));
    const stretches = await scan("content LIKE '%word%'");
    expect(stretches.length).toBeLessThan(LARGE / 2);
    expect(mostBytes(stretches, 'content') * 8).toBeLessThan(STRETCH_STEPS);
  });

  it('looks at fewer events at a time when the patterns are long', async () => {
    push(SMALL, 's'.repeat(1024), 'x');
    const slow = `source LIKE '%${'a'.repeat(200)}b'`;
    const stretches = await scan(slow);
    expect(stretches.at(-1)?.through).toBe(SMALL);
    expect(mostBytes(stretches, 'source') * 200).toBeLessThan(STRETCH_STEPS);
    const twin = await scan(slow, ({ through }) => through);
    expect(mostBytes(twin, 'source') * 200).toBeGreaterThan(STRETCH_STEPS);
  });

  it('looks at a content that takes longer than a turn in small steps', async () => {
    push(1, 'self', `${'a'.repeat(LARGE_BYTES - 1)}b`);
    push(1, 'self', 'a'.repeat(LARGE_BYTES));
    const pattern = `${'a'.repeat(490)}b`;
    const asked = vi.spyOn(table, 'countMatches');
    const count = (filter: string, reader: EventReader<CompiledFilter> = table): Promise<number> =>
      countMatches(reader, compileText(filter), { after: 0, limit: 9 });
    expect(await countRounds(() => count(`content GLOB '*[b-z]${pattern}*'`))).toBeGreaterThan(25);
    expect(asked).not.toHaveBeenCalled();
    expect(await count(`content LIKE '%${pattern}%'`)).toBe(1);
    expect(await count(`content NOT LIKE '%${pattern}'`)).toBe(1);
    // A reader without these looks leaves such events to one statement each.
    const twin: EventReader<CompiledFilter> = {
      newestId: () => table.newestId(),
      countMatches: (...given) => table.countMatches(...given),
      matches: () => [],
      firstMatch: () => undefined,
    };
    expect(await countRounds(() => count("content LIKE '%x'", twin))).toBeLessThan(5);
  });

  it('takes all events at once when no source can take long', async () => {
    push(SMALL, 's'.repeat(1024), 'x');
    expect(await scan("source = 'nobody' OR type = 'x'")).toHaveLength(1);
  });
});
