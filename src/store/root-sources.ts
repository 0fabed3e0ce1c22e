import { join } from 'node:path';
import { chatRoots } from '../chat/retention/chat-roots.ts';
import { contextRoots } from '../context/context-roots.ts';
import { pinRoots } from '../context/pins/pin-verbs.ts';
import type { Engine } from '../engine/engine.ts';
import { plainFilesIo } from '../engine/files/disk/plain-files-io.ts';
import type { RootSource } from '../engine/roots.ts';
import { awayRoots } from '../session/keep/away-sessions.ts';
import { sessionRoots } from '../session/keep/session-roots.ts';
import { workflowRoots } from '../workflow/workflow-roots.ts';
import type { Store } from './store.ts';

/** Every part of a store that is not named here is a kind of thread, and must say what it needs. */
export type KindName = Exclude<
  keyof Store,
  'blobs' | 'maintain' | 'search' | 'watch' | 'typed' | 'close' | symbol
>;

/** Kinds that have roots: those of a store, pinned turns, and sessions whose files a client keeps. */
type SourceName = KindName | 'pins' | 'away';

/**
 * True for a kind that needs blobs of its own, which erasing a blob must ask. The blobs that turns and patches use
 * are known to the engine.
 */
const NEEDS_BLOBS: Readonly<Record<SourceName, boolean>> = {
  chats: true,
  contexts: false,
  workflows: true,
  pins: false,
  queues: false,
  sessions: true,
  away: true,
};

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
  return Object.values(sourcesByName(engine, clock, folder));
}

/** The kinds that erasing a blob must ask whether they need it. */
export function blobSources(
  engine: Engine,
  clock: () => number,
  folder: string | undefined,
): readonly RootSource[] {
  const sources = sourcesByName(engine, clock, folder);
  return (Object.keys(sources) as SourceName[])
    .filter((name) => NEEDS_BLOBS[name])
    .map((name) => sources[name]);
}

function sourcesByName(
  engine: Engine,
  clock: () => number,
  folder: string | undefined,
): Record<SourceName, RootSource> {
  const root = folder === undefined ? undefined : join(folder, 'sessions');
  return {
    chats: chatRoots(engine, clock),
    contexts: contextRoots(engine, clock),
    workflows: workflowRoots(engine),
    pins: pinRoots(engine),
    queues: NO_ROOTS,
    sessions: sessionRoots(engine, plainFilesIo, { root }),
    away: awayRoots(engine, plainFilesIo),
  };
}
