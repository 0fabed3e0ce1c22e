import type { Build } from '../build.ts';
import { contextAppendBatch } from '../commands/context-append-batch.ts';
import { contextAppend } from '../commands/context-append.ts';
import { contextBefore } from '../commands/context-before.ts';
import { contextChain } from '../commands/context-chain.ts';
import { contextCreate } from '../commands/context-create.ts';
import { contextDiff } from '../commands/context-diff.ts';
import { contextErase } from '../commands/context-erase.ts';
import { contextExport } from '../commands/context-export.ts';
import { contextFollow } from '../commands/context-follow.ts';
import { contextFork } from '../commands/context-fork.ts';
import { contextLast } from '../commands/context-last.ts';
import { contextList } from '../commands/context-list.ts';
import { contextPatch } from '../commands/context-patch.ts';
import { contextPatches } from '../commands/context-patches.ts';
import { contextPin } from '../commands/context-pin.ts';
import { contextPins } from '../commands/context-pins.ts';
import { contextRange } from '../commands/context-range.ts';
import { contextRm } from '../commands/context-rm.ts';
import { contextShow } from '../commands/context-show.ts';
import { contextStream } from '../commands/context-stream.ts';
import { contextTombstone } from '../commands/context-tombstone.ts';
import { contextTurn } from '../commands/context-turn.ts';
import { contextUnpin } from '../commands/context-unpin.ts';
import { contextUpdate } from '../commands/context-update.ts';

export const contextCommands: readonly Build[] = [
  contextCreate,
  contextList,
  contextShow,
  contextUpdate,
  contextRm,
  contextAppend,
  contextAppendBatch,
  contextStream,
  contextLast,
  contextBefore,
  contextRange,
  contextTurn,
  contextChain,
  contextFork,
  contextDiff,
  contextPatch,
  contextTombstone,
  contextPatches,
  contextErase,
  contextPin,
  contextUnpin,
  contextPins,
  contextFollow,
  contextExport,
];
