import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { projectPath } from '../support/project.ts';

export const SUPERVISOR: string = projectPath('dist/queue/dispatch/supervisor-main.js');
export const BROKEN_SUPERVISOR: string = projectPath('test/queue/one-run-supervisor.mjs');
export const ONE_BY_ONE: string = projectPath('test/queue/one-by-one-supervisor.mjs');

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Notes what the notifier is asked, and asks it, unless it is told what to answer. */
const NOTING = `#!/bin/sh
printf '%s\\t' "$@" >> "$NOTED"; echo >> "$NOTED"
if [ -n "$NOTIFIER_EXIT" ]; then exit "$NOTIFIER_EXIT"; fi
exec notifier "$@"
`;

/** A folder with the real programs in its path, a spool of its own, and a place for what handlers note. */
export class ThreadRig implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'quipu-thread-'));
  readonly inbox: string = join(this.folder, 'inbox');
  readonly notes: string = join(this.folder, 'notes');
  readonly spool: string = join(this.folder, 'spool');
  readonly env: Record<string, string | undefined>;

  constructor() {
    for (const name of ['bin', 'notes']) mkdirSync(join(this.folder, name));
    const mains = { thread: 'dist/cli/thread/main.js', notifier: 'dist/notifier/main.js' };
    for (const [name, main] of Object.entries(mains)) {
      const script = `#!/bin/sh\nexec "${process.execPath}" "${projectPath(main)}" "$@"\n`;
      writeFileSync(join(this.folder, 'bin', name), script, { mode: 0o755 });
    }
    const noting = join(this.folder, 'bin', 'noting');
    writeFileSync(noting, NOTING, { mode: 0o755 });
    this.env = {
      ...process.env,
      PATH: `${join(this.folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
      THREAD_NOTIFIER: noting,
      NOTED: join(this.folder, 'noted'),
      NOTIFIER_HOME: this.spool,
    };
  }

  /** A command line for the shell, with `input` on its standard input. */
  async sh(command: string, input: string | Uint8Array = ''): Promise<Ran> {
    const child = spawn('bash', ['-c', command], { cwd: this.folder, env: this.env });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  }

  /** What the notifier was asked. */
  get noted(): string[][] {
    return this.lines(join(this.folder, 'noted')).map((line) => line.split('\t').slice(0, -1));
  }

  /** The lines that handlers noted under a name. */
  notesOf(consumer: string, name: string): string[] {
    return this.lines(join(this.notes, `${consumer}.${name}`));
  }

  handler(deadly = 0): string {
    return `"${process.execPath}" "${projectPath('test/queue/handler.mjs')}" "${this.notes}" ${deadly}`;
  }

  /** Whether no handler runs, nor is about to. */
  get isQuiet(): boolean {
    return readdirSync(join(this.inbox, 'run')).length === 0;
  }

  lines(path: string): string[] {
    if (!existsSync(path)) return [];
    return readFileSync(path, 'utf8').split('\n').slice(0, -1);
  }

  [Symbol.dispose](): void {
    if (existsSync(this.spool)) spawnSync('notifier', ['stop'], { env: this.env });
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Resolves when it holds; throws what it last said when it does not in time. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  ms = 30_000,
): Promise<void> {
  const end = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${String(holds)}`);
    await setTimeout(25);
  }
}
