import type { Access } from '../../access/access.ts';
import type { SignIn } from '../../access/sign-in.ts';
import type { CallTable, Served } from '../../calls/call-handler.ts';
import type { Log } from '../../log/log.ts';
import type { ByteBudget } from '../../memory/byte-budget.ts';
import type { Metrics } from '../../metrics/create-metrics.ts';
import type { Families } from '../../browse/families.ts';
import type { RecentThreads } from '../../browse/recent-threads.ts';
import type { Streams } from '../../../stream/streams.ts';
import type { StreamBells } from '../../streams/read-messages.ts';
import type { AnswerRoom } from './answer-room.ts';
import type { Turns } from './pace.ts';

/** Limits on the cost of one client. */
export interface HttpLimits {
  /** The bytes of a request's body, except where the body is stored as it comes in. */
  readonly bodyBytes: number;
  readonly connections: number;
  /** Bytes of large answers in progress for all clients together. A single answer may be larger than this. */
  readonly answerBytes: number;
  /**
   * The time for the headers of a request to arrive, also of the first one. A client that says nothing is cut off after
   * this, too.
   */
  readonly headersMs: number;
  /** A client is cut off when it sends no more of its body, or takes no more of its answer, for this long. */
  readonly stallMs: number;
  /** The server keeps a connection without a request for this long. */
  readonly keepAliveMs: number;
  /** A stream without items sends a heartbeat this often. */
  readonly heartbeatMs: number;
  /** A reader of a durable stream waits this long for the next message, and then asks again. */
  readonly longPollMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 64 * 1024 * 1024,
  answerBytes: 32 * 1024 * 1024,
  connections: 1024,
  headersMs: 10_000,
  stallMs: 60_000,
  keepAliveMs: 65_000,
  heartbeatMs: 15_000,
  longPollMs: 20_000,
};

/** The bytes of the head of a request: the position of a reader with many open turns is long. */
export const HEADER_BYTES_MAX = 65_536;

/** The parts that the whole HTTP server works with. */
export interface HttpService {
  readonly served: Served;
  readonly calls: CallTable;
  readonly access: Access;
  readonly signIn: SignIn;
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
  /** The name of the store that people see. */
  readonly storeName: string;
  readonly families: Families;
  readonly recent: RecentThreads;
  readonly streams: Streams;
  readonly streamBells: StreamBells;
  /** Aborts when the server stops: streams end, and requests in progress finish. */
  readonly stopping: AbortSignal;
}
