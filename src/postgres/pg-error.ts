import { QuipuError, messageOf } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';

// Maps failures to stable words. PostgreSQL names its errors by five characters, and system calls use other codes.
// The client library in between has a few messages of its own without codes.

/** The effect of a failure on a transaction in progress. */
export type Failure =
  /** The server rolled the transaction back because of others. A retry may succeed. */
  | 'conflict'
  /** The connection was lost, or there was none. */
  | 'lost'
  /** The server refused. A retry gives the same result. */
  | 'refused';

const CONFLICTS = new Set(['40001', '40P01']);
/** The server is going down, coming up, or full. */
const AWAY = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25P03', '25P04']);
const SYSTEM_CALLS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOENT',
]);
/** The client says these without a code. */
const LOST_MESSAGES =
  /^(?:Connection terminated|Client has encountered a connection error|Client was closed|timeout expired|Query read timeout)/;
/** Poolers use one code for all errors. These messages are about the pooler's settings, so retrying does not help. */
const POOLER_REFUSALS =
  /^(?:unsupported startup parameter|no such (?:database|user)|SSL required|bouncer config error)/i;
/** A prepared statement is missing on the connection, or is there although this client did not prepare it. */
const STATEMENT_CODES = new Set(['26000', '42P05']);
const POOL_MESSAGE = /^timeout exceeded when trying to connect/;

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (adviceOf(error) !== undefined) return 'refused';
  if (CONFLICTS.has(code)) return 'conflict';
  if (AWAY.has(code) || code.startsWith('08') || SYSTEM_CALLS.has(code)) return 'lost';
  const message = error instanceof Error ? error.message : '';
  return LOST_MESSAGES.test(message) ? 'lost' : 'refused';
}

/** Advice for a pooler that does not do what it must. Undefined for any other failure. */
function adviceOf(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : '';
  if (STATEMENT_CODES.has(codeOf(error))) {
    return 'the pooler does not keep prepared statements: use session pooling, or set max_prepared_statements in PgBouncer 1.21 or newer';
  }
  if (!POOLER_REFUSALS.test(message)) return undefined;
  return message.startsWith('unsupported')
    ? 'take it out of the address, or name it in ignore_startup_parameters of the pooler'
    : 'look at the address, and at the settings of the pooler';
}

export interface FailedAt {
  /** The database, without its password. */
  readonly name: string;
  /** The time limit of a statement. */
  readonly statementMs: number;
}

/** A failure of the database under a stable code; any other error as it is. */
export function toPgError(error: unknown, { name, statementMs }: FailedAt): unknown {
  if (error instanceof QuipuError) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  const make = <C extends ErrorCode>(
    as: C,
    text: string,
    data: QuipuError<C>['data'],
  ): QuipuError => new QuipuError(as, `${name}: ${text}`, data, { cause: error });

  if (POOL_MESSAGE.test(message)) {
    const text = 'all connections are in use; raise the number of connections or send less at once';
    return make('UNAVAILABLE', text, { what: 'connection' });
  }
  const advice = adviceOf(error);
  if (advice !== undefined) {
    return make('UNSUPPORTED', `${message}; ${advice}`, { what: 'pooler', found: message });
  }
  if (failureOf(error) === 'lost') return make('UNAVAILABLE', message, { what: name });
  switch (code) {
    case '40001':
    case '40P01':
      return make('UNAVAILABLE', `others were in the way again and again: ${message}`, {
        what: name,
      });
    case '57014':
    case '55P03':
      return make('TIMEOUT', message, { what: 'statement', afterMs: statementMs });
    case '25006':
      return make('READ_ONLY', 'the database takes no writes; is it a standby?', { path: name });
    case '28P01':
    case '28000':
      return make('UNAUTHORIZED', 'the database refused the user or the password', {});
    case '42501':
      return make('FORBIDDEN', `${message}; grant the user of the address this right`, {
        scope: 'database',
      });
    case '3D000':
      return make('NOT_FOUND', message, { what: 'database', id: name });
    case '22021':
    case '22P05':
    case '22003':
      return make('INVALID', message, { what: 'value' });
    case '53100':
      return make('DISK_FULL', message, { path: name });
    case '53200':
      return make('UNAVAILABLE', message, { what: name });
    case 'XX001':
    case 'XX002':
      return make('CORRUPT', message, { file: name, offset: 0 });
    default:
      return code === '' ? error : make('IO', message, { path: name, errno: code });
  }
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
