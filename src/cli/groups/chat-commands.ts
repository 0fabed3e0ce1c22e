import type { Build } from '../build.ts';
import { chatAnswer } from '../commands/chat-answer.ts';
import { chatAppend } from '../commands/chat-append.ts';
import { chatArchive } from '../commands/chat-archive.ts';
import { chatAsk } from '../commands/chat-ask.ts';
import { chatAttach } from '../commands/chat-attach.ts';
import { chatDismiss } from '../commands/chat-dismiss.ts';
import { chatEdit } from '../commands/chat-edit.ts';
import { chatExport } from '../commands/chat-export.ts';
import { chatFollow } from '../commands/chat-follow.ts';
import { chatFork } from '../commands/chat-fork.ts';
import { chatImport } from '../commands/chat-import.ts';
import { chatList } from '../commands/chat-list.ts';
import { chatNew } from '../commands/chat-new.ts';
import { chatProblems } from '../commands/chat-problems.ts';
import { chatRedact } from '../commands/chat-redact.ts';
import { chatRetain } from '../commands/chat-retain.ts';
import { chatRm } from '../commands/chat-rm.ts';
import { chatSearch } from '../commands/chat-search.ts';
import { chatShow } from '../commands/chat-show.ts';
import { chatUnarchive } from '../commands/chat-unarchive.ts';
import { chatUpdate } from '../commands/chat-update.ts';

export const chatCommands: readonly Build[] = [
  chatNew,
  chatList,
  chatShow,
  chatAppend,
  chatEdit,
  chatFork,
  chatRedact,
  chatAttach,
  chatAsk,
  chatAnswer,
  chatDismiss,
  chatSearch,
  chatProblems,
  chatExport,
  chatImport,
  chatFollow,
  chatUpdate,
  chatArchive,
  chatUnarchive,
  chatRetain,
  chatRm,
];
