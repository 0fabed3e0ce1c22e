import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { expect } from 'vitest';
import type { SessionEntry } from '../../src/session/entries/session-entry.ts';
import type { Store } from '../../src/store/store.ts';
import { picture } from '../../src/testing/session-suite/fixture.ts';

export interface LargeSession {
  readonly pictures: number;
  readonly distinct: number;
  readonly outputs: number;
}

export interface LargeFigures {
  readonly fileBytes: number;
  /** Blobs, session file and artifacts. */
  readonly storedBytes: number;
  readonly lastMs: number;
}

/** A session with pictures of 1 MB and tool outputs, read again and compared. */
export async function makeLargeSession(store: Store, size: LargeSession): Promise<LargeFigures> {
  const shots = Array.from({ length: size.distinct }, () => randomBytes(1_000_000));
  const session = await store.sessions.create();
  const entries: SessionEntry[] = [];
  for (let n = 0; n < Math.max(size.pictures, size.outputs); n++) {
    if (n < size.pictures) entries.push(await session.append(picture(shots[n % shots.length]!)));
    if (n >= size.outputs) continue;
    const sink = session.sink({ toolType: 'bash', spillThreshold: 1024, headBytes: 256 });
    await sink.push(`${n} ${'some output of a tool\n'.repeat(150)}`);
    const { output, artifactId } = await sink.dump();
    expect(artifactId).toBe(String(n));
    entries.push(
      await session.append({ type: 'message', message: { role: 'tool', output, artifactId } }),
    );
  }
  await session.close();

  // The last entries come without the rest: a file whose beginning was cut out would do.
  const again = await store.sessions.open(session.id);
  let lastMs = Infinity;
  // The machine may stand still during one of them.
  for (let time = 0; time < 3; time++) {
    const begun = performance.now();
    const tail = await again.last(50, { hydrate: false });
    lastMs = Math.min(lastMs, performance.now() - begun);
    expect(tail.entries).toHaveLength(50);
  }
  let at = 0;
  for await (const { entry, unresolved } of again.entries()) {
    expect(unresolved).toEqual([]);
    expect(JSON.stringify(entry) === JSON.stringify(entries[at]), `entry ${at}`).toBe(true);
    at++;
  }
  expect(at).toBe(entries.length);
  const { artifactBytes } = await store.sessions.details(session.id);
  const fileBytes = fs.statSync(again.file!).size;
  const { storedBytes } = await store.maintain.stats();
  return { fileBytes, storedBytes: storedBytes + fileBytes + artifactBytes, lastMs };
}
