// One measurement in a process of its own: takes a trial as JSON, prints the figures as JSON.
import type { Trial, Workload, WorkloadName } from './workloads/workload.ts';

/** Each is loaded when it runs: what others need would count in its memory, a hundred megabytes of it. */
const WORKLOADS: Record<WorkloadName, () => Promise<Workload>> = {
  'append-one': async () => (await import('./workloads/append.ts')).appendOne,
  'append-many': async () => (await import('./workloads/append.ts')).appendMany,
  echo: async () => (await import('./workloads/echo.ts')).echo,
  'last-turns': async () => (await import('./workloads/read.ts')).lastTurns,
  grow: async () => (await import('./workloads/grow.ts')).grow,
  open: async () => (await import('./workloads/grow.ts')).open,
  fork: async () => (await import('./workloads/grow.ts')).fork,
  range: async () => (await import('./workloads/read.ts')).range,
  sessions: async () => (await import('./workloads/space.ts')).sessions,
  blob: async () => (await import('./workloads/space.ts')).blob,
  import: async () => (await import('./workloads/import.ts')).importing,
  'search-fill': async () => (await import('./workloads/search.ts')).searchFill,
  search: async () => (await import('./workloads/search.ts')).search,
  sink: async () => (await import('./workloads/sink.ts')).sink,
  'fill-half-dead': async () => (await import('./workloads/collect.ts')).fillHalfDead,
  gc: async () => (await import('./workloads/collect.ts')).collect,
  'fill-mix': async () => (await import('./workloads/verify.ts')).fillMix,
  verify: async () => (await import('./workloads/verify.ts')).verify,
  backup: async () => (await import('./workloads/backup.ts')).backup,
  'queue-push': async () => (await import('./workloads/queue.ts')).queuePush,
  'queue-batch': async () => (await import('./workloads/queue.ts')).queueBatch,
  'queue-command': async () => (await import('./workloads/queue-command.ts')).queueCommand,
  'queue-read': async () => (await import('./workloads/queue.ts')).queueRead,
  'grow-chat': async () => (await import('./workloads/chat.ts')).growChat,
  'use-chat': async () => (await import('./workloads/chat.ts')).useChat,
  database: async () => (await import('./workloads/database.ts')).database,
  langgraph: async () => (await import('./workloads/langgraph.ts')).langgraph,
  page: async () => (await import('./workloads/page.ts')).page,
  watch: async () => (await import('./workloads/watch.ts')).watch,
  'watch-database': async () => (await import('./workloads/watch.ts')).watchDatabase,
  conversation: async () => (await import('./workloads/conversation.ts')).conversation,
};

const trial = JSON.parse(process.argv[2] ?? '{}') as Trial;
const run = await WORKLOADS[trial.workload]();
console.log(JSON.stringify(await run(trial)));
