// One measurement in a process of its own: takes a trial as JSON, prints the figures as JSON.
import { backup } from './workloads/backup.ts';
import { growChat, useChat } from './workloads/chat.ts';
import { collect, fillHalfDead } from './workloads/collect.ts';
import { appendMany, appendOne } from './workloads/append.ts';
import { conversation } from './workloads/conversation.ts';
import { database } from './workloads/database.ts';
import { langgraph } from './workloads/langgraph.ts';
import { echo } from './workloads/echo.ts';
import { fork, grow, open } from './workloads/grow.ts';
import { lastTurns, range } from './workloads/read.ts';
import { page } from './workloads/page.ts';
import { queueCommand } from './workloads/queue-command.ts';
import { queueBatch, queuePush, queueRead } from './workloads/queue.ts';
import { importing } from './workloads/import.ts';
import { search, searchFill } from './workloads/search.ts';
import { sink } from './workloads/sink.ts';
import { blob, sessions } from './workloads/space.ts';
import { fillMix, verify } from './workloads/verify.ts';
import { watch, watchDatabase } from './workloads/watch.ts';
import type { Trial, Workload, WorkloadName } from './workloads/workload.ts';

const WORKLOADS: Record<WorkloadName, Workload> = {
  'append-one': appendOne,
  'append-many': appendMany,
  echo,
  'last-turns': lastTurns,
  grow,
  open,
  fork,
  range,
  sessions,
  blob,
  import: importing,
  'search-fill': searchFill,
  search,
  sink,
  'fill-half-dead': fillHalfDead,
  gc: collect,
  'fill-mix': fillMix,
  verify,
  backup,
  'queue-push': queuePush,
  'queue-batch': queueBatch,
  'queue-command': queueCommand,
  'queue-read': queueRead,
  'grow-chat': growChat,
  'use-chat': useChat,
  database,
  langgraph,
  page,
  watch,
  'watch-database': watchDatabase,
  conversation,
};

const trial = JSON.parse(process.argv[2] ?? '{}') as Trial;
console.log(JSON.stringify(await WORKLOADS[trial.workload](trial)));
