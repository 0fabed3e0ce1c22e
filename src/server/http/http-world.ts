import type { Access } from '../access/access.ts';
import type { CallTable, Served } from '../calls/call-handler.ts';
import type { Log } from '../log/log.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { AnswerRoom } from './answer-room.ts';
import type { HttpLimits } from './http-limits.ts';
import type { Turns } from './pace.ts';

/** The parts that the whole HTTP server works with. */
export interface HttpWorld {
  readonly served: Served;
  readonly calls: CallTable;
  readonly access: Access;
  readonly limits: HttpLimits;
  /** The budget, shared with the other protocol of the server. */
  readonly budget: ByteBudget;
  /** The room for answers, which counts against the budget. */
  readonly room: AnswerRoom;
  /** The turns of answers that are being sent. */
  readonly turns: Turns;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly version: string;
  /** Aborts when the server stops: streams end, and requests in progress finish. */
  readonly stopping: AbortSignal;
}
