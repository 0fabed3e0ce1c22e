import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

// The calls with which a real process changes files, in their order, as strace saw them.

/** A call that succeeded. Texts among its arguments are bytes. */
export interface Call {
  readonly name: string;
  readonly args: readonly (Buffer | string)[];
  readonly result: number;
}

const CALLS =
  'openat,open,creat,close,mkdir,mkdirat,rmdir,rename,renameat,renameat2,link,linkat,unlink,unlinkat,symlink,symlinkat,' +
  'truncate,write,pwrite64,writev,pwritev,ftruncate,fallocate,fsync,fdatasync,dup,dup2,dup3,fcntl,copy_file_range';

/** Why nobody can be watched here; undefined when one can. */
export function whyNoTrace(): string | undefined {
  const { status } = spawnSync('strace', ['-e', 'trace=none', 'true']);
  return status === 0 ? undefined : 'there is no strace here that may watch a process';
}

export function traceProcess(script: string, ...args: readonly string[]): Call[] {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-trace-'));
  try {
    const trace = join(folder, 'trace');
    const options = ['-f', '-xx', '-s', '1000000', '-e', `trace=${CALLS}`, '-o', trace];
    const ran = spawnSync('strace', [...options, process.execPath, script, ...args]);
    if (ran.status !== 0) throw new Error(`the traced process failed: ${String(ran.stderr)}`);
    return readCalls(readFileSync(trace, 'latin1'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** In the order in which they ended. */
function readCalls(text: string): Call[] {
  const begun = new Map<string, string>();
  return text.split('\n').flatMap((line) => {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const unfinished = / <unfinished \.\.\.>$/.exec(rest);
    if (unfinished !== null) {
      begun.set(thread, rest.slice(0, unfinished.index));
      return [];
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(rest);
    const whole =
      resumed === null ? rest : (begun.get(thread) ?? '') + rest.slice(resumed[0].length);
    return readCall(whole);
  });
}

function readCall(line: string): Call[] {
  const [, name, list, result] = /^(\w+)\((.*)\)\s+= (-?\d+)/s.exec(line) ?? [];
  if (name === undefined || list === undefined || Number(result) < 0) return [];
  const args = list.split(', ').map((arg) => {
    const [, hex] = /^"((?:\\x[0-9a-f]{2})*)"$/.exec(arg) ?? [];
    return hex === undefined ? arg : Buffer.from(hex.replaceAll('\\x', ''), 'hex');
  });
  return [{ name, args, result: Number(result) }];
}
