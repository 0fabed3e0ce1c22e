import { Command } from 'commander';
import { CHAT } from './chat-commands.ts';
import { addCommonOptions } from './command.ts';
import { backup } from './commands/backup.ts';
import { blobErase } from './commands/blob-erase.ts';
import { blobGet } from './commands/blob-get.ts';
import { blobPut } from './commands/blob-put.ts';
import { blobStat } from './commands/blob-stat.ts';
import { checkpoint } from './commands/checkpoint.ts';
import { contextAppendBatch } from './commands/context-append-batch.ts';
import { contextAppend } from './commands/context-append.ts';
import { contextBefore } from './commands/context-before.ts';
import { contextCreate } from './commands/context-create.ts';
import { contextDiff } from './commands/context-diff.ts';
import { contextErase } from './commands/context-erase.ts';
import { contextExport } from './commands/context-export.ts';
import { contextFollow } from './commands/context-follow.ts';
import { contextFork } from './commands/context-fork.ts';
import { contextLast } from './commands/context-last.ts';
import { contextList } from './commands/context-list.ts';
import { contextPatch } from './commands/context-patch.ts';
import { contextPatches } from './commands/context-patches.ts';
import { contextPin } from './commands/context-pin.ts';
import { contextPins } from './commands/context-pins.ts';
import { contextRange } from './commands/context-range.ts';
import { contextRm } from './commands/context-rm.ts';
import { contextShow } from './commands/context-show.ts';
import { contextStream } from './commands/context-stream.ts';
import { contextTombstone } from './commands/context-tombstone.ts';
import { contextTurn } from './commands/context-turn.ts';
import { contextUnpin } from './commands/context-unpin.ts';
import { contextUpdate } from './commands/context-update.ts';
import { doctor } from './commands/doctor.ts';
import { gc } from './commands/gc.ts';
import { init } from './commands/init.ts';
import { queueCreate } from './commands/queue-create.ts';
import { queueDispatch } from './commands/queue-dispatch.ts';
import { queueFollow } from './commands/queue-follow.ts';
import { queueInfo } from './commands/queue-info.ts';
import { queueList } from './commands/queue-list.ts';
import { queuePeek } from './commands/queue-peek.ts';
import { queuePop } from './commands/queue-pop.ts';
import { queuePush } from './commands/queue-push.ts';
import { queueSubscribe } from './commands/queue-subscribe.ts';
import { queueUnsubscribe } from './commands/queue-unsubscribe.ts';
import { reindex } from './commands/reindex.ts';
import { restore } from './commands/restore.ts';
import { retain } from './commands/retain.ts';
import { serve } from './commands/serve.ts';
import { sessionAppend } from './commands/session-append.ts';
import { sessionArtifact } from './commands/session-artifact.ts';
import { sessionCat } from './commands/session-cat.ts';
import { sessionCreate } from './commands/session-create.ts';
import { sessionExport } from './commands/session-export.ts';
import { sessionFork } from './commands/session-fork.ts';
import { sessionGc } from './commands/session-gc.ts';
import { sessionImport } from './commands/session-import.ts';
import { sessionList } from './commands/session-list.ts';
import { sessionMove } from './commands/session-move.ts';
import { sessionRecover } from './commands/session-recover.ts';
import { sessionRm } from './commands/session-rm.ts';
import { sessionShow } from './commands/session-show.ts';
import { stats } from './commands/stats.ts';
import { tokenCreate } from './commands/token-create.ts';
import { tokenList } from './commands/token-list.ts';
import { tokenRevoke } from './commands/token-revoke.ts';
import { verify } from './commands/verify.ts';
import { workflowAdd } from './commands/workflow-add.ts';
import { workflowCompact } from './commands/workflow-compact.ts';
import { workflowEnd } from './commands/workflow-end.ts';
import { workflowFork } from './commands/workflow-fork.ts';
import { workflowHistory } from './commands/workflow-history.ts';
import { workflowKill } from './commands/workflow-kill.ts';
import { workflowList } from './commands/workflow-list.ts';
import { workflowLive } from './commands/workflow-live.ts';
import { workflowPause } from './commands/workflow-pause.ts';
import { workflowResume } from './commands/workflow-resume.ts';
import { workflowRm } from './commands/workflow-rm.ts';
import { workflowRollback } from './commands/workflow-rollback.ts';
import { workflowRun } from './commands/workflow-run.ts';
import { workflowShow } from './commands/workflow-show.ts';
import { workflowStart } from './commands/workflow-start.ts';
import { workflowStep } from './commands/workflow-step.ts';
import { readVersion } from './version.ts';
import type { World } from './world.ts';

type Build = (world: World) => Command;

const CONTEXT: readonly Build[] = [
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
const SESSION: readonly Build[] = [
  sessionCreate,
  sessionAppend,
  sessionList,
  sessionShow,
  sessionCat,
  sessionFork,
  sessionMove,
  sessionArtifact,
  sessionExport,
  sessionImport,
  sessionRm,
  sessionRecover,
  sessionGc,
];
const BLOB: readonly Build[] = [blobPut, blobGet, blobStat, blobErase];
const WORKFLOW: readonly Build[] = [
  workflowAdd,
  workflowList,
  workflowShow,
  workflowRm,
  workflowHistory,
  workflowRollback,
  workflowRun,
  workflowResume,
  workflowPause,
  workflowKill,
  workflowFork,
  workflowCompact,
  workflowLive,
  workflowStart,
  workflowStep,
  workflowEnd,
];
const QUEUE: readonly Build[] = [
  queueCreate,
  queueList,
  queueInfo,
  queuePush,
  queuePeek,
  queueSubscribe,
  queueUnsubscribe,
  queuePop,
  queueDispatch,
  queueFollow,
];
const TOKEN: readonly Build[] = [tokenCreate, tokenList, tokenRevoke];
const UPKEEP: readonly Build[] = [
  stats,
  gc,
  verify,
  backup,
  restore,
  retain,
  checkpoint,
  reindex,
  doctor,
];

const START = `
Examples:
  $ ctx=$(quipu context create --title "fix the parser")
  $ quipu context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'
  $ quipu context last $ctx

Exit codes: 0 done, 1 the store said no, 2 the command line or the input is wrong.`;

/** The tree of commands. Options before a command's name are the program's, after it the command's. */
export function createProgram(world: World): Command {
  const program = addCommonOptions(new Command('quipu'))
    .description('Durable memory for AI agents.')
    .version(readVersion())
    .enablePositionalOptions()
    .addHelpText('after', START);
  program.addCommand(init(world));
  program.addCommand(serve(world));
  program.addCommand(group('context', 'Turns and the contexts that lead to them.', CONTEXT, world));
  program.addCommand(
    group('workflow', 'Threads of agents with roles, and what runs them.', WORKFLOW, world),
  );
  program.addCommand(
    group('session', 'What coding agents write, with its artifacts.', SESSION, world),
  );
  program.addCommand(group('chat', 'Chats: events, and the messages they tell.', CHAT, world));
  program.addCommand(group('blob', 'Immutable bytes by their hash.', BLOB, world));
  program.addCommand(group('queue', 'Events, and the handlers they wake.', QUEUE, world));
  program.addCommand(group('token', 'Who may use a server.', TOKEN, world));
  for (const build of UPKEEP) program.addCommand(build(world));
  return program;
}

function group(name: string, summary: string, builds: readonly Build[], world: World): Command {
  const parent = new Command(name)
    .description(summary)
    .enablePositionalOptions()
    .addHelpText('after', `\nEvery command has examples: quipu ${name} <command> --help`);
  for (const build of builds) parent.addCommand(build(world));
  return parent;
}
