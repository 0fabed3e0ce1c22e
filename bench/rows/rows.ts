import { appendManyRow, appendOneRow, lastTurnsRow } from './appends.ts';
import { chatsRow } from './chats.ts';
import { forkRow, openRow, rangeRow } from './deep.ts';
import { databaseRow } from './database.ts';
import type { Row } from './finding.ts';
import { importRow } from './import.ts';
import { langgraphRow } from './langgraph.ts';
import { backupRow, gcRow, verifyRow } from './health.ts';
import { queueBatchRow, queueCommandRow, queuePushRow, queueReadRow } from './queues.ts';
import { scalingFurtherRow, scalingRow } from './scaling.ts';
import { tcpLastTurnsRow, tcpManyRow, tcpOneRow, tcpPipelinedRow } from './served.ts';
import { searchRow } from './search.ts';
import { sinkRow } from './sink.ts';
import { blobRow, sessionsRow } from './space.ts';
import { pageRow } from './page.ts';
import { watchRow } from './watch.ts';

export const ROWS: readonly Row[] = [
  appendOneRow,
  appendManyRow,
  lastTurnsRow,
  scalingRow,
  openRow,
  forkRow,
  rangeRow,
  scalingFurtherRow,
  sessionsRow,
  blobRow,
  sinkRow,
  importRow,
  searchRow,
  gcRow,
  verifyRow,
  backupRow,
  chatsRow,
  tcpOneRow,
  tcpPipelinedRow,
  tcpManyRow,
  tcpLastTurnsRow,
  watchRow,
  pageRow,
  queuePushRow,
  queueBatchRow,
  queueCommandRow,
  queueReadRow,
  databaseRow,
  langgraphRow,
];
