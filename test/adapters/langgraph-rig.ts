import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { Checkpoint, CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';

export async function openFolder(): Promise<{
  store: Store;
  folder: string;
  close: () => Promise<void>;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-langgraph-'));
  const store = await openStore(folder);
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, folder, close };
}

export const METADATA: CheckpointMetadata = { source: 'loop', step: 0, parents: {} };
export const AT = { configurable: { thread_id: 't/1%', checkpoint_ns: '' } };

export type Values = Record<string, unknown>;

export function checkpointOf(values: Values, version = 1): Checkpoint {
  const channel_versions = Object.fromEntries(Object.keys(values).map((key) => [key, version]));
  return { ...emptyCheckpoint(), id: uuid6(0), channel_values: values, channel_versions };
}

export async function setUp(): Promise<{ store: Store; saver: QuipuSaver }> {
  const { store, close } = await openFolder();
  onTestFinished(close);
  return { store, saver: new QuipuSaver(store) };
}

export async function put(saver: QuipuSaver, at: typeof AT, values: Values): Promise<typeof AT> {
  const checkpoint = checkpointOf(values);
  const versions = checkpoint.channel_versions;
  return (await saver.put(at, checkpoint, METADATA, versions)) as typeof AT;
}

export const valuesAt = async (saver: QuipuSaver, at: typeof AT): Promise<unknown> =>
  (await saver.getTuple(at))?.checkpoint.channel_values;
