import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../base/program-file.ts';
import type { QueueFolder } from './sqlite/queue-folder.ts';

/** A notifier accepts a task and returns. A notifier that does not return within this time is given up. */
const TIMEOUT_MS = 10_000;
const ALREADY_QUEUED = 1;

/** The process that asks the notifier. */
export interface AskingProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The script that this process runs. */
  readonly script: string;
  readonly execPath: string;
}

/** `queued`: the dispatch will happen. `failed`: the dispatch will not happen, with the reason. */
type Notified =
  | { readonly outcome: 'queued'; readonly task: string; readonly exit: number }
  | { readonly outcome: 'failed'; readonly task: string; readonly reason: string };

/** Asks the notifier to dispatch. Never throws. */
export async function askNotifier(
  folder: QueueFolder,
  author: string,
  asker: AskingProcess,
): Promise<Notified> {
  const task = `dispatch-${toSlug(folder.path)}`;
  const program = findNotifier(asker);
  if (program === undefined) return { outcome: 'failed', task, reason: 'there is no notifier' };
  const command = `thread dispatch --thread ${quoteForShell(folder.path)}`;
  const add = ['task', 'add', '--author', author, '--task-id', task, '--command', command];
  const env = { ...asker.env, PATH: pathWithThread(asker) };
  const { exit, reason } = await run([...program, ...add], env);
  if (exit === 0 || exit === ALREADY_QUEUED) return { outcome: 'queued', task, exit };
  return { outcome: 'failed', task, reason };
}

/** The program and its first arguments. */
function findNotifier({ env, execPath }: AskingProcess): readonly string[] | undefined {
  const named = env['THREAD_NOTIFIER'];
  const own = fileURLToPath(programFile('notifier/main.js'));
  const program = named === undefined || named === '' ? own : named;
  if (program === own && !existsSync(own)) return undefined;
  // Scripts need not be executable.
  return /\.[cm]?js$/.test(program) ? [execPath, program] : [program];
}

/** The task runs `thread` by its name. If the name is not on the path, the folder of the running program is added. */
function pathWithThread({ env, script }: AskingProcess): string {
  const path = env['PATH'] ?? '';
  const folders = path.split(delimiter);
  if (folders.some((folder) => isProgram(join(folder, 'thread')))) return path;
  const packageFolder = fileURLToPath(programFile('..'));
  const places = [
    ...(basename(script) === 'thread' ? [dirname(script)] : []),
    join(packageFolder, 'node_modules', '.bin'),
    join(packageFolder, '..', '.bin'),
  ];
  const place = places.find((folder) => isProgram(join(folder, 'thread')));
  return place === undefined ? path : [...folders, place].join(delimiter);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // The file is absent, or not executable.
    return false;
  }
}

function run(
  [program = '', ...args]: readonly string[],
  env: Record<string, string | undefined>,
): Promise<{ exit: number; reason: string }> {
  return new Promise((resolve) => {
    const options = { env, timeout: TIMEOUT_MS, maxBuffer: 1 << 20 };
    execFile(program, args, options, (error, _, stderr) => {
      if (error === null) return resolve({ exit: 0, reason: '' });
      const exit = typeof error.code === 'number' ? error.code : -1;
      const said = stderr.trim().slice(0, 300);
      const how = error.killed === true ? `no answer for ${TIMEOUT_MS / 1000} s` : error.message;
      resolve({ exit, reason: exit > 0 ? `exit ${exit}${said === '' ? '' : `: ${said}`}` : how });
    });
  });
}

/** Leaves the text unquoted where a shell does not change it. */
export function quoteForShell(text: string): string {
  if (/^[A-Za-z0-9_/.,:=@%+-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const CHARS_MAX = 40;
const CHARS_KEPT = 32;
const DIGEST_CHARS = 6;

/**
 * Makes a path part of a task's id. A character that is not an ASCII letter or digit becomes a hyphen. A long path is
 * cut and gets the beginning of the path's SHA-1, and so does a path with characters that are rare in paths. Without it
 * all names written in another script would be one id, and one queue's task would stand for another's.
 */
export function toSlug(path: string): string {
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, '-').replace(/^-+/, '');
  if (slug.length <= CHARS_MAX && /^[A-Za-z0-9/._-]*$/.test(path)) return slug;
  const digest = createHash('sha1').update(path).digest('hex').slice(0, DIGEST_CHARS);
  return `${slug.slice(0, CHARS_KEPT)}-${digest}`;
}
