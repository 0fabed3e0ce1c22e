import { hostname } from 'node:os';
import { join } from 'node:path';
import { Lifetime } from '../base/lifetime.ts';
import { chatTexts } from '../chat/chat-texts.ts';
import { createChats } from '../chat/create-chats.ts';
import { contextTexts } from '../context/texts/context-texts.ts';
import type { Engine } from '../engine/engine.ts';
import { plainFilesIo } from '../engine/files/disk/plain-files-io.ts';
import type { TextSource } from '../engine/texts.ts';
import type { OwnedQueues } from '../queue/events/queue.ts';
import { queueTexts } from '../queue/queue-texts.ts';
import { sessionTexts } from '../session/session-texts.ts';
import { workflowTexts } from '../workflow/workflow-texts.ts';
import type { KindName } from './root-sources.ts';

export interface TextHome {
  readonly engine: Engine;
  readonly clock: () => number;
  /** The folder of the store, if it has one. */
  readonly folder: string | undefined;
  readonly queues: OwnedQueues;
}

/** The texts of everything in a store: a kind of thread that is not named here does not compile. */
export function textSources(home: TextHome): readonly TextSource[] {
  return Object.values(sourcesByName(home));
}

function sourcesByName({ engine, clock, folder, queues }: TextHome): Record<KindName, TextSource> {
  const root = folder === undefined ? undefined : join(folder, 'sessions');
  return {
    contexts: contextTexts(engine),
    chats: chatTexts(engine, createChats({ engine, clock, lifetime: new Lifetime(), eraseBlob })),
    workflows: workflowTexts(engine),
    sessions: sessionTexts({ engine, clock, root, io: plainFilesIo, host: hostname() }),
    queues: queueTexts(queues),
  };
}

/** Chats are only read here. */
function eraseBlob(): never {
  throw new TypeError('search erases nothing');
}
