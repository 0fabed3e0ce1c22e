// One measurement in a process of its own: takes a trial as JSON, prints the figures as JSON.
import { backup } from './workloads/backup.ts';
import { growChat, useChat } from './workloads/chat.ts';
import { collect, fillHalfDead } from './workloads/collect.ts';
import { appendMany, appendOne } from './workloads/append.ts';
import { fork, grow, open } from './workloads/grow.ts';
import { lastTurns, range } from './workloads/read.ts';
import { blob, sessions } from './workloads/space.ts';
import { fillMix, verify } from './workloads/verify.ts';
import type { Trial, Workload, WorkloadName } from './workloads/workload.ts';

const WORKLOADS: Record<WorkloadName, Workload> = {
  'append-one': appendOne,
  'append-many': appendMany,
  'last-turns': lastTurns,
  grow,
  open,
  fork,
  range,
  sessions,
  blob,
  'fill-half-dead': fillHalfDead,
  gc: collect,
  'fill-mix': fillMix,
  verify,
  backup,
  'grow-chat': growChat,
  'use-chat': useChat,
};

const trial = JSON.parse(process.argv[2] ?? '{}') as Trial;
console.log(JSON.stringify(await WORKLOADS[trial.workload](trial)));
