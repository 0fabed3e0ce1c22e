import { CommanderError } from 'commander';
import { isQuipuError } from '../../base/errors.ts';
import type { ErrorCode, QuipuError } from '../../base/errors.ts';
import { escapeControls } from '../plain-text.ts';
import { outputHint } from '../process-streams.ts';
import type { ThreadWorld } from './thread-world.ts';

const USAGE = 2;
const LOGIC = 1;

interface Told {
  readonly error: string;
  readonly suggestion: string;
  readonly exit: 1 | 2;
}

const SUGGESTIONS: Partial<Record<ErrorCode, string>> = {
  INVALID: 'see thread --help, or thread <command> --help --verbose',
  TOO_LARGE: 'push less at a time, or put large data elsewhere and push a reference to it',
  DISK_FULL: 'free some space and try again; nothing was stored',
  READ_ONLY: 'check the owner and mode of the directory and of the files in it',
  LOCKED: 'try again',
  CORRUPT:
    'run: thread verify --thread <path> --repair, which takes what it can from events.jsonl; or restore a backup',
  IO: 'check the disk and the permissions',
};

/** `Error: <what went wrong> - <how to fix>`, or the two as JSON, on standard error. */
export function reportThreadError(thrown: unknown, json: boolean, world: ThreadWorld): number {
  if (isBrokenPipe(thrown)) return 0;
  const { error, suggestion, exit } = toTold(thrown);
  if (json) world.err(`${JSON.stringify({ error, suggestion })}\n`);
  else world.err(`Error: ${escapeControls(error)} - ${suggestion}\n`);
  return exit;
}

function toTold(thrown: unknown): Told {
  if (thrown instanceof CommanderError) {
    const error = thrown.message.replace(/^error: /, '');
    return { error, suggestion: SUGGESTIONS.INVALID ?? '', exit: USAGE };
  }
  if (!isQuipuError(thrown)) {
    const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return { error, suggestion: 'this is a fault of the program; please report it', exit: LOGIC };
  }
  const { code, message } = thrown;
  const exit = code === 'INVALID' || code === 'TOO_LARGE' ? USAGE : LOGIC;
  return { error: message, suggestion: suggestionFor(thrown), exit };
}

function suggestionFor(error: QuipuError): string {
  const { code, data } = error;
  const what = 'what' in data ? data.what : '';
  const id = 'id' in data ? data.id : '';
  if (code === 'NOT_FOUND' && what === 'thread') return `run first: thread init ${id}`;
  if (code === 'NOT_FOUND' && what === 'subscription') {
    return `subscribe it with: thread subscribe --consumer ${id} --handler <cmd>`;
  }
  if (code === 'EXISTS' && what === 'subscription') {
    return `run first: thread unsubscribe --consumer ${id}, then subscribe again`;
  }
  if (code === 'EXISTS') return 'use it as it is, or choose another directory';
  return outputHint(error) ?? SUGGESTIONS[code] ?? 'see thread --help';
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
