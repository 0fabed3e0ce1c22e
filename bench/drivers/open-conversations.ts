import { bytesUnder } from '../workloads/space.ts';
import type { Conversations, DriverName } from './driver.ts';
import { openHistory } from './open-driver.ts';
import { Streams } from './streams.ts';

export interface Opened {
  readonly conversations: Conversations;
  /** What the store takes on disk, also after it was closed. */
  diskBytes(): Promise<number>;
  dispose(): Promise<void>;
}

export async function openConversations(name: DriverName, folder: string): Promise<Opened> {
  // LangGraph takes long to load, and the others do without.
  if (name === 'quipu-postgres-saver' || name === 'postgres-saver') {
    return (await import('./savers.ts')).openDatabaseSaver(name);
  }
  if (name === 'quipu-saver' || name === 'sqlite-saver' || name === 'sqlite-saver-full') {
    return inFolder(await (await import('./savers.ts')).openSaver(name, folder), folder);
  }
  if (name === 'quipu-streams' || name === 'streams-server') {
    return inFolder(await Streams.open(name, folder), folder);
  }
  return inFolder(await openHistory(name, folder), folder);
}

function inFolder(conversations: Conversations, folder: string): Opened {
  return { conversations, diskBytes: async () => bytesUnder(folder), dispose: async () => {} };
}
