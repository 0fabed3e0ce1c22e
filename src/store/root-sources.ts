import { join } from 'node:path';
import { chatRoots } from '../chat/chat-roots.ts';
import { contextRoots } from '../context/context-roots.ts';
import { pinRoots } from '../context/pins/pin-roots.ts';
import type { Engine } from '../engine/engine.ts';
import { plainFilesIo } from '../engine/files/disk/plain-files-io.ts';
import type { RootSource } from '../engine/roots.ts';
import { workflowRoots } from '../workflow/workflow-roots.ts';
import { awayRoots } from '../session/keep/away-sessions.ts';
import { sessionRoots } from '../session/keep/session-roots.ts';
import type { Store } from './store.ts';

/** Every part of a store that is not named here is a kind of thread, and must say what it needs. */
export type KindName = Exclude<keyof Store, 'blobs' | 'maintain' | 'watch' | 'close' | symbol>;

/** Events carry their contents themselves, so they need no blobs. */
const NO_ROOTS: RootSource = {
  kind: 'queues',
  async *roots() {},
  rootsIn: () => [],
};

/**
 * The roots of everything that needs something: a collection must not touch what they lead to. `folder` is the folder
 * of the store, if it has one.
 */
export function rootSources(
  engine: Engine,
  clock: () => number = Date.now,
  folder?: string,
): readonly RootSource[] {
  const root = folder === undefined ? undefined : join(folder, 'sessions');
  const sources: Record<KindName | 'pins' | 'away', RootSource> = {
    chats: chatRoots(engine, clock),
    contexts: contextRoots(engine),
    workflows: workflowRoots(engine),
    pins: pinRoots(engine),
    queues: NO_ROOTS,
    sessions: sessionRoots(engine, plainFilesIo, { root }),
    away: awayRoots(engine, plainFilesIo),
  };
  return Object.values(sources);
}
